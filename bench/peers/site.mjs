// What the servers of Node.js share. Their arguments are the address to listen at, and that of
// Redis. A site asks a node for the list with GET /roster.
import { createServer } from 'node:http';

const [, , address, redis] = process.argv;
export const redisURL = `redis://${redis}`;
export const [host, port] = address.split(':');

// An adapter publishes without a handler for the case that Redis is away.
process.on('unhandledRejection', (err) => console.error(err));

export async function answer(response, roster) {
  try {
    const text = JSON.stringify(await roster());
    response.writeHead(200, { 'Content-Type': 'application/json' }).end(text);
  } catch (err) {
    response.writeHead(503).end(err.message);
  }
}

// listen serves Socket.IO. SIGTERM closes it: https://socket.io/docs/v4/server-api/#serverclosecallback.
export function listen(io, roster) {
  const server = createServer((request, response) => answer(response, roster));
  io.attach(server, { transports: ['websocket'] });
  server.listen(Number(port), host);
  process.on('SIGTERM', () => io.close(() => setTimeout(() => process.exit(0), 500)));
}
