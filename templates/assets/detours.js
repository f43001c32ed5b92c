// The transports for networks that let no Server-Sent Events through, such as behind a proxy
// that buffers answers. The best is first.

import { cut, split } from "./list_post.js";

export const detours = [webSocket, longPoll];

/** Returns the data of an event, with the users who were left out of the address: see cut. */
const marked = (data, cut) => (data && cut ? { ...data, cut } : data);

function webSocket(address, signal, hear, get, parse) {
  return new Promise((ended) => {
    const [rest, people] = split(address("ws"), ["person"]);
    const [url, dropped] = cut(rest);
    const socket = new WebSocket(url);
    if (people.length) socket.onopen = () => socket.send(JSON.stringify({ type: "watch", users: people.map(([, id]) => id) }));
    socket.onmessage = (message) => {
      const { event, data } = parse(message.data) ?? {};
      hear(event, marked(data, dropped));
    };
    socket.onclose = ended;
    signal.onabort = () => ended(socket.close());
  });
}

/** Lets the server hold each answer twice as long as the one before, up to 25 s, as long as answers get through. */
async function longPoll(address, signal, hear, get) {
  for (let wait = 1; ; wait = Math.min(2 * wait, 25)) {
    const [url, dropped] = cut(address("poll"));
    const { events, heartbeats = [], refused, warnings, app } = await (await get(url + "&wait=" + wait, signal)).json();
    hear("welcome", { refused, warnings, app });
    for (const { event, data } of events) hear(event, marked(data, dropped));
    for (const data of heartbeats) hear("heartbeat", data);
  }
}
