// The transports, best first, for networks that Server-Sent Events do not get through,
// such as behind a proxy that buffers answers.

import { cut, split } from "./list_post.js";

export const detours = [webSocket, longPoll];

function webSocket(address, signal, hear, get, parse) {
  return new Promise((ended) => {
    const [url, users] = split(address("ws"));
    const socket = new WebSocket(url);
    if (users.length) socket.onopen = () => socket.send(JSON.stringify({ type: "watch", users }));
    socket.onmessage = (message) => {
      const { event, data } = parse(message.data) ?? {};
      hear(event, data);
    };
    socket.onclose = ended;
    signal.onabort = () => ended(socket.close());
  });
}

/** Waits for longer and longer answers, as long as they get through. */
async function longPoll(address, signal, hear, get) {
  for (let wait = 1; ; wait = Math.min(2 * wait, 25)) {
    const { events, heartbeats = [], refused, warnings, app } = await (await get(cut(address("poll")) + "&wait=" + wait, signal)).json();
    hear("welcome", { refused, warnings, app });
    for (const { event, data } of events) hear(event, data);
    for (const data of heartbeats) hear("heartbeat", data);
  }
}
