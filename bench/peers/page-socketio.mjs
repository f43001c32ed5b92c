// A page of Socket.IO: it asks for the list whenever it is connected, and follows the two events.
import { io } from 'socket.io-client';
import { getJSON } from './ask.mjs';

function connect(addr, user, reconnection) {
  return io(`ws://${addr}`, { transports: ['websocket'], forceNew: true, reconnection, auth: { user } });
}

export async function open({ addr, user, gone }) {
  const socket = connect(addr, user, false);
  await new Promise((done, fail) => socket.once('connect', done).once('connect_error', fail));
  socket.once('disconnect', gone);
  return { close: () => void socket.disconnect() };
}

export async function watch({ addr, all, join, leave }) {
  const socket = connect(addr, undefined, true);
  socket.on('user has connected', join);
  socket.on('user has disconnected', leave);
  await new Promise((done) => {
    socket.on('connect', async () => {
      try {
        all(await socket.emitWithAck('list'));
        done();
      } catch {
        // the connection went before the answer: the next one asks again
      }
    });
  });
  return { close: () => void socket.disconnect() };
}

export const roster = ({ addr }) => getJSON(`http://${addr}/roster`);
