// A page in a room of XMPP (XEP-0045), over a WebSocket (RFC 7395). A user's nick is his name, and
// two tabs of his are two sessions with one nick. The settings are JSON:
//
//	path      of the WebSocket
//	key       with which the site signs a token for its user, who has no password of his own then
//	accounts  a directory where the user's account is written at first; his password is "secret"
//	resume    for how many seconds the server keeps the session of a page that went (XEP-0198);
//	          the tab keeps its id and goes on with it, as in its sessionStorage
//	patience  for how many milliseconds a page goes on to show a user who has left
//	api       the server has an API that names the occupants
//	sessions  that names the users of all sessions instead
import { createHmac } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import WebSocket from 'ws';
import { getJSON } from './ask.mjs';
import { patient } from './patient.mjs';

const settings = JSON.parse(process.argv[3]);
const room = 'room@conference.localhost';
const kept = new Map(); // user → ids of sessions whose page went, newest last

async function password(user) {
  if (settings.accounts) {
    await writeFile(`${settings.accounts}/${user}.dat`, 'return { ["password"] = "secret"; };\n');
    return 'secret';
  }
  const part = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const text = `${part({ alg: 'HS256', typ: 'JWT' })}.${part({ jid: `${user}@localhost`, exp: 4102444800 })}`;
  return `${text}.${createHmac('sha256', settings.key).update(text).digest('base64url')}`;
}

const presenceMark = 'p'.charCodeAt(0); // in <presence

// A Stream is a connection of a user. Each message of its WebSocket is one stanza.
class Stream {
  #waiting = [];
  seen = 0; // stanzas, as XEP-0198 counts them
  counts = false;

  constructor(addr, heard, gone) {
    this.socket = new WebSocket(`ws://${addr}/${settings.path}`, 'xmpp');
    this.socket.on('message', (data) => {
      if (heard || this.#waiting.length > 0 || data[1] !== presenceMark) return this.#hear(String(data), heard);
      if (this.counts) this.seen++; // nobody looks at it
    });
    this.socket.on('error', () => {});
    this.socket.on('close', () => {
      for (const { fail } of this.#waiting.splice(0)) fail(new Error('the connection closed'));
      gone();
    });
  }
  #hear(stanza, heard) {
    if (this.counts && /^<(iq|message|presence)\b/.test(stanza)) this.seen++;
    if (/^<(enabled|resumed)\b/.test(stanza)) this.counts = true;
    if (/^<r\b/.test(stanza)) return this.send(`<a xmlns='urn:xmpp:sm:3' h='${this.seen}'/>`);
    if (/^<close\b/.test(stanza)) { // the server ends the session, and waits for the client's word
      this.id = undefined;
      this.send(`<close xmlns='urn:ietf:params:xml:ns:xmpp-framing'/>`);
      return this.socket.close();
    }
    const i = this.#waiting.findIndex(({ want }) => want.test(stanza));
    if (i >= 0) this.#waiting.splice(i, 1)[0].done(stanza);
    heard?.(stanza);
  }
  send(stanza) {
    if (this.socket.readyState === WebSocket.OPEN) this.socket.send(stanza);
  }
  // await returns the next stanza of this form.
  await(want) {
    if (this.socket.readyState !== WebSocket.OPEN) throw new Error('the connection is closed');
    return new Promise((done, fail) => this.#waiting.push({ want, done, fail }));
  }
  async ask(stanza, want) {
    const answer = this.await(want);
    this.send(stanza);
    return answer;
  }
  async login(user) {
    await new Promise((done, fail) => this.socket.once('open', done).once('error', fail));
    const begin = () => this.ask(`<open xmlns='urn:ietf:params:xml:ns:xmpp-framing' to='localhost' version='1.0'/>`, /^<(stream:)?features/);
    await begin();
    const secret = Buffer.from(`\0${user}\0${await password(user)}`).toString('base64');
    const answer = await this.ask(`<auth xmlns='urn:ietf:params:xml:ns:xmpp-sasl' mechanism='PLAIN'>${secret}</auth>`, /^<(success|failure)/);
    if (answer.startsWith('<failure')) throw new Error(answer);
    await begin();
  }
  // resume goes on with a session, and reports whether the server still had it.
  async resume({ id, seen }) {
    [this.id, this.seen] = [id, seen];
    const answer = await this.ask(`<resume xmlns='urn:xmpp:sm:3' previd='${id}' h='${seen}'/>`, /^<(resumed|failed)/);
    if (answer.startsWith('<resumed')) return true;
    [this.id, this.seen] = [undefined, 0];
    return false;
  }
  async bind() {
    await this.ask(`<iq xmlns='jabber:client' type='set' id='bind'><bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'/></iq>`, /^<iq\b[^>]*\bid=.bind/);
    if (!settings.resume) return;
    const answer = await this.ask(`<enable xmlns='urn:xmpp:sm:3' resume='true' max='${settings.resume}'/>`, /^<(enabled|failed)/);
    this.id = attribute(answer, 'id');
  }
  // enter enters the room, and returns once the room has said so, after it named the others.
  async enter(nick) {
    await this.ask(`<iq xmlns='jabber:client' type='get' id='disco' to='conference.localhost'><query xmlns='http://jabber.org/protocol/disco#info'/></iq>`, /^<iq\b[^>]*\bid=.disco/);
    const answer = await this.ask(`<presence xmlns='jabber:client' to='${room}/${nick}'><x xmlns='http://jabber.org/protocol/muc'><history maxstanzas='0'/></x></presence>`,
      /^<presence\b.*(code=.110|type=.error)/s);
    if (attribute(answer, 'type') === 'error') throw new Error(answer);
  }
}

const attribute = (stanza, name) => new RegExp(`^<[^>]*\\s${name}=['"]([^'"]*)`).exec(stanza)?.[1];

// presence returns the user whose presence in the room a stanza tells, and whether he is there.
function presence(stanza) {
  const from = attribute(stanza, 'from');
  if (!stanza.startsWith('<presence') || !from?.startsWith(`${room}/`)) return [];
  const type = attribute(stanza, 'type');
  return [from.slice(room.length + 1), type === undefined, type === 'unavailable'];
}

export async function open({ addr, user, gone }) {
  const stream = new Stream(addr, undefined, gone);
  const late = setTimeout(() => stream.socket.terminate(), 10000); // nobody waits for it any more
  try {
    await stream.login(user);
    const session = kept.get(user)?.pop();
    if (!session || !(await stream.resume(session))) {
      await stream.bind();
      await stream.enter(user);
    }
  } catch (err) {
    stream.socket.terminate();
    throw err;
  } finally {
    clearTimeout(late);
  }
  return {
    close() {
      if (stream.id) kept.set(user, [...(kept.get(user) ?? []), stream]);
      stream.socket.terminate();
    },
  };
}

// A page that watches is in the room, too, with an account of its own. Nobody shows it.
const watcher = /^watcher\d+$/;
let watchers = 0;

export async function watch({ addr, ...page }) {
  const { all, join, leave } = settings.patience ? patient(settings.patience, page) : page;
  const user = `watcher${++watchers}`;
  let closed, stream, timer;
  let entering; // whom the room has named, until it has named all
  const heard = (stanza) => {
    const [who, is, isGone] = presence(stanza);
    if (!who || watcher.test(who)) return;
    if (entering) return is && entering.add(who);
    if (is) join(who);
    if (isGone) leave(who);
  };
  const enter = async () => {
    stream = new Stream(addr, heard, () => { if (!closed) timer = setTimeout(again, 1000); });
    await stream.login(user);
    await stream.bind();
    entering = new Set();
    await stream.enter(user);
    all(entering);
    entering = undefined;
  };
  const again = () => enter().catch(() => stream.socket.terminate());
  await enter();
  return {
    close() {
      closed = true;
      clearTimeout(timer);
      stream.socket.terminate();
    },
  };
}

// Where no API names the occupants, the site has an account that stays in the room.
const sites = new Map(); // address → users

async function site(addr) {
  if (!sites.has(addr)) {
    const users = new Set();
    sites.set(addr, users);
    const all = (now) => { users.clear(); for (const user of now) users.add(user); };
    await watch({ addr, all, join: (user) => users.add(user), leave: (user) => users.delete(user) }).catch((err) => {
      sites.delete(addr);
      throw err;
    });
  }
  return sites.get(addr);
}

export async function roster({ addr }) {
  if (!settings.api) return site(addr);
  if (settings.sessions) {
    const jids = await getJSON(`http://${addr}/api/connected_users_vhost`, { method: 'POST', body: '{"host":"localhost"}', headers: { 'Content-Type': 'application/json' } });
    return new Set(jids.map((jid) => jid.split('@')[0]).filter((user) => !watcher.test(user)));
  }
  const body = JSON.stringify({ name: 'room', service: 'conference.localhost' });
  const occupants = await getJSON(`http://${addr}/api/get_room_occupants`, { method: 'POST', body, headers: { 'Content-Type': 'application/json' } });
  return new Set(occupants.map(({ nick }) => nick).filter((nick) => !watcher.test(nick)));
}
