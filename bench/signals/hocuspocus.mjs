// Hocuspocus with one document, of which only the awareness is used.
import { Server } from '@hocuspocus/server';
import { Redis } from '@hocuspocus/extension-redis';
import RedisClient from 'ioredis';
const server = new Server({
  port: 0, address: '127.0.0.1', quiet: true, timeout: 3600000,
  extensions: [new Redis({ createClient: () => new RedisClient(process.argv[2]) })],
});
await server.listen();
console.log('127.0.0.1:' + server.address.port);
process.stdin.resume().on('end', () => process.exit(0));
