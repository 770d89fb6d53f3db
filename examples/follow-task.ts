/*
 * Starts a task on a running gateway (npm start) and follows it as a page would. The first connection is cut on purpose:
 * the store comes back by itself and goes on behind the last event that it has seen.
 */
import { isDeepStrictEqual } from "node:util";
import { taskStore } from "./browser/task.ts";

const gateway = process.env["DELTAWIRE_URL"] ?? "http://127.0.0.1:4141/v1";
const base = new URL(gateway).origin;
const api = `${base}/api`;
const body = JSON.stringify({ agent: "demo-agent", input: "What is the weather in Paris?" });
const started = await fetch(`${api}/tasks`, { method: "POST", body });
const { task_id: id } = (await started.json()) as { task_id: string };

let connections = 0;
const store = taskStore(base, async (address, init) => {
  connections += 1;
  if (connections > 1) return fetch(address, init);
  const cut = new AbortController();
  const reply = await fetch(address, { ...init, signal: cut.signal });
  setTimeout(() => cut.abort("cut on purpose"), 100);
  return reply;
});

let shown: string | undefined;
store.follow(id);
await new Promise<void>((resolve) => {
  store.subscribe(id, () => {
    const { state, reason = "" } = store.connection(id) ?? { state: "waiting" };
    // It is "connecting" and "live" too, perhaps for so short a time that no subscriber sees it.
    if (state !== shown && (state === "waiting" || state === "ended"))
      console.log(`${state} ${reason}`.trim());
    shown = state;
    if (state === "ended") resolve();
  });
});

const view = store.view(id);
for (const item of view?.output ?? [])
  if (item.type === "message") console.dir(item.block_list, { depth: null });
const whole: unknown = await (await fetch(`${api}/tasks/${id}`)).json();
console.log(`the same as the gateway's: ${isDeepStrictEqual(view, whole)}`);
store.close();
