// Types of the client, for editors and for tsc. A page imports it from where the
// handlers are mounted:
//
//	import { connect } from "/presence/assets/connect.js";

/** What others see of a user. */
export interface User {
  /** Shown to people. Empty: the id is. */
  name: string;
  status: "online" | "away" | "busy";
  /** When the user came, RFC 3339. Absent: this moment. */
  since?: string;
  avatar?: string;
  url?: string;
  /** Whatever the site's identify function put there. */
  data?: unknown;
}

/** Someone who left, as last known: without a name where the roster was cut off before them. */
export type Departed = Partial<User> & { last_seen?: string };

/** The figures of a topic. Each is absent until it is known. */
export interface Counts {
  /** Users online, listed or not. */
  total?: number;
  guests?: number;
  /** Users whom page views showed lately. */
  recent?: number;
}

/** Whether changes arrive: "off" while the connection is lost, or what the server knows is old. */
export type Live = "on" | "off" | "connecting";

/** The listeners, by event. */
export interface Events {
  /** A user came: the first connection or page view. Called for each user of the first state too. */
  join(id: string, user: User, topic: string): void;
  /** Something about a user who is here is new, such as the status; or a user who was cut off from the roster came into it. */
  change(id: string, user: User, topic: string): void;
  /** A user's last connection is gone. */
  leave(id: string, user: Departed, topic: string): void;
  /** A whole state has come, as the server sent it; its joins and leaves were told before. */
  state(state: { topic: string; cursor: string; users: Record<string, User>; truncated: boolean } & Counts, topic: string): void;
  /** All of an event was told, and roster and counts are up to date: the moment to draw. */
  sync(topic: string): void;
  /**
   * The connection came or went: for good where the page's user has signed out and
   * somebody else in, so that the page must be loaded again.
   */
  live(live: Live, signedOut?: boolean): void;
}

/** What a page already knows of its topics, such as what the server rendered. */
export interface Known {
  users?: Iterable<readonly [string, User]>;
  counts?: Counts;
  cursor?: string;
  /** Whether it was the last that the server itself knew. */
  stale?: boolean;
}

export interface Options {
  /** Default: the site's own, "site". */
  topics?: string[];
  /** Where the handlers are mounted. Default: what the page's head says, or "/presence". */
  src?: string;
  /** How many users are wanted of a topic, up to 1,000. Default: 100. */
  limit?: number;
  /** For one topic: where to start from, instead of from a state. */
  known?: Known;
}

export interface Presence {
  readonly live: Live;
  /** Calls listener for each event of a type, and returns what ends that. */
  on<K extends keyof Events>(type: K, listener: Events[K]): () => void;
  /**
   * Who is in a topic, newest first. It is the roster itself: it follows the
   * topic, and whoever reads it leaves it as it is. Empty for any other topic.
   */
  roster(topic: string): ReadonlyMap<string, User>;
  counts(topic: string): Readonly<Counts>;
  /** Whether the server itself has only the last that it knew of a topic. */
  stale(topic: string): boolean;
  /**
   * Whether a topic has so many users that the server tells figures only: no join or
   * leave is told then, and the roster is a sample, asked for anew every 10 to 15 s
   * while the page is looked at.
   */
  sampled(topic: string): boolean;
  /** Lets go. Nothing is told after it. */
  close(): void;
}

/**
 * Follows topics, and holds the visitor online in them. All of a page's, and
 * of a browser's tabs, share one connection. Listeners that are added at once,
 * without waiting for anything, miss nothing.
 */
export function connect(options?: Options): Presence;
