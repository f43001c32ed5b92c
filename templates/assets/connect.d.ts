// Types of the client, for editors and for tsc. A page imports the client from the path of
// the handlers:
//
//	import { connect } from "/presence/assets/connect.js";

/** A user, as other users see it. */
export interface User {
  /** The name to show. Empty: show the id. */
  name: string;
  status: "online" | "away" | "busy";
  /** When the user joined, RFC 3339. Absent: just now. */
  since?: string;
  avatar?: string;
  url?: string;
  /** The group under which a list shows the user. */
  group?: string;
  /** Data of the site's identify function. */
  data?: unknown;
  /** Of a watched person: the text beside the status. */
  text?: string;
  /** Of a watched person: the kinds of the devices, such as "mobile", each once. */
  on?: string[];
}

/** A user who left, as last known. The name is absent if the user was cut off from the roster. */
export type Departed = Partial<User> & { last_seen?: string };

/** The counts of a topic. Each is absent until it is known. */
export interface Counts {
  /** Users online, listed or not. */
  total?: number;
  guests?: number;
  /** Users with a recent page view. */
  recent?: number;
}

/** An item of a feed: a notification, or a post of a room. Optional fields are absent where they are empty. */
export interface Item {
  /** Does not change. (pos changes when a message joins the item.) */
  id: string;
  /** The place: newer items have higher ones. */
  pos: number;
  type: string;
  /** The version of data. */
  v: number;
  /** RFC 3339. */
  at: string;
  /** The ids of users who did it, the latest first, and their names. */
  actors?: string[];
  names?: string[];
  /** How many more users did it. */
  others?: number;
  /** How many messages the item stands for. */
  n: number;
  about?: string;
  text: string;
  url?: string;
  data?: unknown;
  /** Absent in rooms but for "removed". An archived or removed item is off the list. */
  state?: "unread" | "read" | "archived" | "removed";
}

/** What a state or a diff of a feed says. The numbers are of inboxes. */
export interface Feed {
  /** A state has the newest items, a diff those that changed. An item replaces the one with the same id. */
  items?: Item[];
  /** Of a state: whether there are older items. */
  more?: boolean;
  unread?: number;
  unseen?: number;
}

/** A message to the readers of a topic. It is not stored. */
export interface Signal {
  type: string;
  /** The version of data. */
  v: number;
  /** The id and the name of the user who sent it. Absent: the site sent it. */
  from?: string;
  name?: string;
  /** For how many seconds it holds. Negative: it has ended. Absent: it is about one moment only. */
  for?: number;
  data?: unknown;
}

/** Whether changes arrive: "off" while the connection is lost or refused. */
export type Live = "on" | "off" | "connecting";

/** The listeners, by event. */
export interface Events {
  /**
   * A user came online in the topic. Also called for each user of the first state. Not called for a user of a large
   * topic who moves up into the list, because others left.
   */
  join(id: string, user: User, topic: string): void;
  /** A user changed, such as the status. Also called when a user who was cut off from the roster enters it, because others left. */
  change(id: string, user: User, topic: string): void;
  /** A user of the roster is no longer online in the topic. Not called for a user who only falls out of the list, because others came. */
  leave(id: string, user: Departed, topic: string): void;
  /** A state event, as the server sent it. join, change and leave were called before. */
  state(state: { topic: string; cursor: string; users: Record<string, User>; window?: number; truncated: boolean } & Counts & Feed, topic: string): void;
  /**
   * A diff event, as the server sent it. Programs that follow a feed, such as "inbox" or
   * "feed:thread:42", need it: join, change and leave are of rosters.
   */
  diff(diff: { topic: string; cursor: string; prev: string; out?: string[] } & Counts & Feed, topic: string): void;
  /**
   * Signals came, such as that somebody is typing. They may be lost, so their data say how
   * things are, and not what has changed. A signal that holds for some time ends with a later
   * one of the same type and user, after its time, and when the user leaves. The listener has
   * to end it.
   */
  signal(data: { topic: string; signals: Signal[] }, topic: string): void;
  /** Roster and counts are up to date after an event: draw now. */
  sync(topic: string): void;
  /**
   * The connection came or went, or the visitor may follow none of the topics, which is
   * "off" too. signedOut: the page's user has signed out and another user has signed in, so
   * the page must be loaded again, or get an element that was rendered for that user.
   */
  live(live: Live, signedOut?: boolean): void;
}

/** What a page already knows of a topic, such as what the server rendered. */
export interface Known {
  users?: Iterable<readonly [string, User]>;
  counts?: Counts;
  cursor?: string;
  /** Whether the server could not reach its store, and rendered what it knew last. */
  stale?: boolean;
}

export interface Options {
  /** Default: ["site"], and with people or contacts: none. */
  topics?: string[];
  /**
   * The ids of people to watch, at most 500. Their events have the topic "people": state,
   * join, change and leave tell of a person as the page's visitor may see the person. All
   * tabs of a browser watch over one connection, at most 500 in all; a tab whose people do
   * not fit has a connection of its own. For sites with track.Config.Directory.
   */
  people?: Iterable<string>;
  /**
   * Whether to watch the visitor's contacts. The roster of "people" then also has those whom
   * other calls, in any tab of the browser, watch.
   */
  contacts?: boolean;
  /** The path of the handlers. Default: the path in the page's head, or "/presence". */
  src?: string;
  /**
   * How many users of a topic to list, the newest first, up to 1,000. Default: 100. The stream tells of as many as the
   * largest list on the pages of a browser has, so a small list costs a small part of what happens in a large topic.
   */
  limit?: number;
  /** For one topic: what is known, with no more users than limit. The stream goes on from there. */
  known?: Known;
}

export interface Presence {
  readonly live: Live;
  /** Calls listener for each event of a type. Returns a function that removes it. */
  on<K extends keyof Events>(type: K, listener: Events[K]): () => void;
  /**
   * The users in a topic, newest first: as many as the largest list shows, and after them those of whom the page shows
   * a dot. It changes with the topic; do not change it. Empty for a topic that was not given to connect, and for one that
   * has figures only.
   */
  roster(topic: string): ReadonlyMap<string, User>;
  counts(topic: string): Readonly<Counts>;
  /** Whether the server cannot reach its store, and sent what it knew last. */
  stale(topic: string): boolean;
  /** The version of a topic that the roster has. Empty: it is not known. */
  cursor(topic: string): string;
  /**
   * Whether the visitor may not follow a topic, by the site's Config.Authorize. Such a topic
   * has no events. The other topics are live: live is "off" only if no topic is left.
   */
  refused(topic: string): boolean;
  /**
   * Sends a signal into a topic, in the name of the page's visitor, as far as the site allows
   * it (handlers.Config.Whispers). Returns the status of the answer: 204 where the signal was
   * taken, 403 where it may not be sent or the visitor is not seen in the topic, 429 over the
   * limit; 0 without an answer. The client of a site imports it from connect.js below the path
   * of the handlers.
   * @param more for: how many seconds it stands, 1 to 30; negative: it has ended. data: up to 1 KiB of JSON.
   */
  signal(topic: string, type: string, more?: { for?: number; data?: unknown }): Promise<number>;
  /** Stops following the topics, and removes all listeners. */
  close(): void;
}

/**
 * Follows topics, and keeps the visitor online in them. All calls on a page, and in all
 * tabs of a browser, share one connection. A listener that is added before the first await
 * misses nothing.
 *
 * The connection is that of the user whose page it is. The page's head names the user at
 * first. When an element of the page is inserted that the server has rendered for another
 * user, as htmx and Turbo Drive do after a sign-in, all calls go on as that user.
 *
 * The console warns of mistakes in how the site is wired, such as a topic that the visitor
 * may not follow, or a CSRF check that refuses the page's beats. Each warning begins with
 * "presence: ", and is written once a page.
 */
export function connect(options?: Options): Presence;
