// Never run: tsc reads it, so that connect.d.ts stays what it says.

import { connect, type Feed, type Presence, type User } from "../connect.js";

const p: Presence = connect({ topics: ["site"], src: "/presence", limit: 300 });
const off: () => void = p.on("join", (id, user, topic) => {
  const name: string = user.name || id.toUpperCase() + topic;
  console.log(name, user.status === "busy");
});
p.on("leave", (_id, { name, last_seen }) => console.log(name?.length, last_seen));
p.on("state", ({ users, total }) => console.log(users["x"]?.since, total));
p.on("diff", ({ out = [] }) => console.log(out.join()));
p.on("sync", (topic) => {
  const users: [string, User][] = [...p.roster(topic)];
  console.log(users, p.counts(topic).total, p.stale(topic), p.live === "off");
});
p.on("live", (live, signedOut) => console.log(live === "off" && signedOut ? location.reload() : live));
const refused: boolean = p.refused("site");
console.log(refused);
connect({ people: ["bob"], contacts: true }).on("join", (_id, { text, on }) => console.log(text?.length, on?.includes("mobile")));
connect({ topics: ["thread:1"], known: { users: new Map(), counts: { total: 0 }, cursor: "x", stale: true } }).close();
off();

// @ts-expect-error: there is no such event
p.on("joined", () => {});
// @ts-expect-error: a roster is read
p.roster("site").set("x", { name: "x", status: "online" });
// @ts-expect-error: people are ids
connect({ people: [1] });
// @ts-expect-error: topics are strings
connect({ topics: [1] });

const inbox = connect({ topics: ["inbox"] });
const texts = new Map<string, string>();
const take = ({ unread, items = [] }: Feed) => {
  document.title = `${unread}`;
  for (const { id, text, state } of items) state === "archived" ? texts.delete(id) : texts.set(id, text);
};
inbox.on("state", take);
inbox.on("diff", take);

p.on("signal", ({ signals }, topic) => {
  for (const { type, v, from = "", name, for: seconds = 0, data } of signals) console.log(topic, type, v, from.length, name, seconds > 0, data);
});
p.signal("thread:1", "typing", { for: 6 }).then((status) => console.log(status === 204));
// @ts-expect-error: a signal has a type
p.signal("thread:1");
