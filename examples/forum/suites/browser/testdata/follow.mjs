// node follow.mjs <.ci/clients> <eventsource|ws> <origin>: prints a line for each event.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import vm from "node:vm";

const [clients, name, origin] = process.argv.slice(2);
const imported = createRequire(`${clients}/package.json`)(name);
vm.runInThisContext(readFileSync(new URL("follow.js", import.meta.url), "utf8"));
follow(imported.EventSource ?? imported.WebSocket, origin, (e) => console.log(JSON.stringify(e)));
