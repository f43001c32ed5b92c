// follow prints each event of the site's topic, by an EventSource or a WebSocket
// of any make. An EventSource comes back by itself, a WebSocket is made again.
function follow(make, origin, print) {
  const topics = "topic=site&observe=1";
  const followers = {
    EventSource() {
      const source = new make(`${origin}/presence/events?${topics}`);
      for (const event of ["welcome", "state", "diff", "count", "heartbeat"]) {
        source.addEventListener(event, (e) => print({ event, id: e.lastEventId, data: JSON.parse(e.data) }));
      }
    },
    WebSocket() {
      let cursor = "";
      const open = () => {
        const from = cursor && `&cursor=${encodeURIComponent(cursor)}`;
        const socket = new make(`${origin.replace(/^http/, "ws")}/presence/ws?${topics}${from}`, "presence.v1");
        socket.onmessage = (message) => {
          const e = JSON.parse(message.data);
          cursor = e.id || cursor;
          print({ ...e, protocol: socket.protocol });
        };
        socket.onerror = () => {}; // onclose follows
        socket.onclose = () => setTimeout(open, 100);
      };
      open();
    },
  };
  followers[make.name]();
}
