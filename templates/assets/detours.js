// The transports, best first, for networks that Server-Sent Events do not get through,
// such as behind a proxy that buffers answers.

import { cut, split } from "./list_post.js";

export const detours = [webSocket, longPoll];

/** Returns the data of an event, with the users whom the server does not know to be wanted. */
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

/** Waits for longer and longer answers, as long as they get through. */
async function longPoll(address, signal, hear, get) {
  for (let wait = 1; ; wait = Math.min(2 * wait, 25)) {
    const [url, dropped] = cut(address("poll"));
    const { events, heartbeats = [], refused, warnings, app } = await (await get(url + "&wait=" + wait, signal)).json();
    hear("welcome", { refused, warnings, app });
    for (const { event, data } of events) hear(event, marked(data, dropped));
    for (const data of heartbeats) hear("heartbeat", data);
  }
}
