// The browser of the peers whose clients are JavaScript: it opens and closes pages, as lines of JSON say
// on its standard input, and tells on its standard output what they show. Its argument is the module of
// the peer, which exports
//
//	open({addr, user, gone})                    returns a page, once the user is there
//	watch({addr, user, all, join, leave, gone}) returns a page that calls all([users]), join(user), leave(user)
//	roster({addr})                              returns the users whom the server names
//
// Each of them may be async and may throw. A page is {close()}. gone() says that the server has ended it; a page
// that watches calls it only if it does not connect again. pagechild.go has the lines.
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';

const say = line => process.stdout.write(JSON.stringify(line) + '\n');
// What a library throws in a callback is no reason to end: a browser writes it to its console, too.
process.on('uncaughtException', err => console.error(err));
process.on('unhandledRejection', err => console.error(err));

const peer = await import(pathToFileURL(process.argv[2]));
const tabs = new Map(); // by number: a page, or undefined while it opens

async function enter(tab, opening) {
  tabs.set(tab, undefined);
  let page;
  try {
    page = await opening;
  } catch (err) {
    tabs.delete(tab);
    throw err;
  }
  if (tabs.has(tab)) tabs.set(tab, page);
  else page.close(); // it was closed meanwhile
}

async function obey({ do: what, tab, addr, user }) {
  const gone = () => say({ tab, gone: true });
  switch (what) {
    case 'open':
      return enter(tab, (async () => peer.open({ addr, user, gone }))());
    case 'watch':
      return enter(tab, (async () => peer.watch({
        addr, user, gone,
        all: users => say({ tab, all: true, joins: [...users] }),
        join: user => say({ tab, joins: [user] }),
        leave: user => say({ tab, leaves: [user] }),
      }))());
    case 'close': {
      const page = tabs.get(tab);
      tabs.delete(tab);
      return page?.close();
    }
    case 'roster':
      return { users: [...await peer.roster({ addr })] };
  }
  throw new Error('there is no command ' + what);
}

for await (const line of createInterface({ input: process.stdin })) {
  const command = JSON.parse(line);
  obey(command).then(
    answer => say({ id: command.id, ...answer }),
    err => say({ id: command.id, error: String(err?.message ?? err) }));
}
process.exit(0);
