// Run by TestPatient.
import assert from 'node:assert';
import { mock } from 'node:test';
import { patient } from './patient.mjs';

mock.timers.enable({ apis: ['setTimeout'] });
const news = [];
const page = patient(1000, {
  all: (users) => news.push(`= ${[...users]}`),
  join: (user) => news.push(`+ ${user}`),
  leave: (user) => news.push(`- ${user}`),
});
page.all(['a', 'b', 'c']);
page.leave('a');
page.leave('unknown');
mock.timers.tick(900);
page.join('a'); // back in time
page.all(['a', 'c']); // b is missing in a new list
mock.timers.tick(900);
page.all(['a', 'b']); // b is back, and c is missing
mock.timers.tick(999);
assert.deepEqual(news, ['= a,b,c', '+ a', '= a,b,c', '= a,b,c']);
mock.timers.tick(1);
assert.deepEqual(news.slice(4), ['- c']);
