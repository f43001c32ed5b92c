// Socket.IO with a room a person. It obeys the lines that serve in server.go describes.
const { createServer } = require('http');
const { Server } = require('socket.io');
const server = createServer();
const io = new Server(server, { transports: ['websocket'], pingInterval: 3600000, maxHttpBufferSize: 1e6 });
const online = new Map();
const joined = (id) => ({ joins: { [id]: { name: online.get(id), status: 'online', since: '2026-11-22T15:30:00.000Z', on: ['desktop'] } }, leaves: {} });
io.on('connection', (socket) => {
  socket.on('watch', (ids) => {
    socket.join(ids);
    socket.emit('state', ids.filter((id) => online.has(id)).map(joined));
  });
});
function change(id, comes) {
  if (comes) {
    online.set(id, '~' + BigInt(Date.now()) * 1000000n);
    io.to(id).emit('diff', joined(id));
  } else {
    online.delete(id);
    io.to(id).emit('diff', { joins: {}, leaves: { [id]: {} } });
  }
}
server.listen(0, '127.0.0.1', () => console.log('127.0.0.1:' + server.address().port));
require('readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const words = line.split(' ');
  switch (words[0]) {
    case 'J':
    case 'L':
      for (const n of words.slice(1)) change('p' + n, words[0] === 'J');
      break;
    case 'gc':
      global.gc();
      console.log('collected');
  }
}).on('close', () => process.exit(0));
