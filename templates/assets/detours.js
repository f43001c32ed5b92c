// The transports for networks that let no Server-Sent Events through, such as behind a proxy
// that buffers answers. The best is first.

import { cut, marked, split } from "./list_post.js";

const HEARTBEAT = 15; // s: a poll, which the server holds for 25 s at most, is waited for as a stream with this heartbeat

export const detours = ["", webSocket, longPoll].map((detour, at) => (address, turn, hear, ...tools) => {
  const keep = (transport) => {
    try {
      sessionStorage.presence = transport;
    } catch {} // the page may not use storage
  };
  keep(0);
  return detour(address, turn, (type, data) => {
    if (type === "welcome") keep(at); // it gets through, so the next page of this tab begins with it
    hear(type, data);
  }, ...tools);
});

function webSocket(address, turn, hear, get, parse) {
  return new Promise((ended) => {
    const [rest, people] = split(address("ws"), (name) => name === "person");
    const [url, dropped] = cut(rest);
    const socket = new WebSocket(url);
    if (people.length) socket.onopen = () => socket.send(JSON.stringify({ type: "watch", users: people.map(([, id]) => id) }));
    socket.onmessage = (message) => {
      const { event, data } = parse(message.data) ?? {};
      hear(event, marked(data, dropped));
    };
    socket.onclose = ended;
    turn.over.then(() => ended(socket.close()));
  });
}

/** Lets the server hold each answer twice as long as the one before, up to 25 s, as long as answers get through. */
async function longPoll(address, turn, hear, get) {
  for (let wait = 1; !turn.aborted; wait = Math.min(2 * wait, 25)) {
    const answer = await get(address("poll") + "&wait=" + wait, turn);
    const { cursor, events, heartbeats = [], refused, warnings, app } = await answer.json();
    if (!cursor || !events.map) throw answer; // not of the server
    hear("welcome", { heartbeat: HEARTBEAT, refused, warnings, app });
    for (const { event, data } of events) hear(event, marked(data, answer.cut));
    for (const data of heartbeats) hear("heartbeat", data);
  }
}
