/*
 * Starts a task on a running gateway (npm start) and follows it like a web page. The first connection is aborted to
 * show that the store reconnects and continues after the last event it received.
 */
import { isDeepStrictEqual } from "node:util";
import { createPageTaskStore } from "./browser/task.ts";

const gateway = process.env["DELTAWIRE_URL"] ?? "http://127.0.0.1:4141/v1";
const base = new URL(gateway).origin;
const api = `${base}/api`;
const body = JSON.stringify({ agent: "demo-agent", input: "What is the weather in Paris?" });
const started = await fetch(`${api}/tasks`, { method: "POST", body });
const { task_id: id } = (await started.json()) as { task_id: string };

let connections = 0;
const store = createPageTaskStore(base, async (address, init) => {
  connections += 1;
  if (connections > 1) return fetch(address, init);
  const abortController = new AbortController();
  const reply = await fetch(address, { ...init, signal: abortController.signal });
  setTimeout(() => abortController.abort("aborted on purpose"), 100);
  return reply;
});

let lastState: string | undefined;
store.follow(id);
await new Promise<void>((resolve) => {
  store.subscribe(id, () => {
    const { state, reason = "" } = store.connection(id) ?? { state: "waiting" };
    // The states "connecting" and "live" may be too short for a subscriber to see.
    if (state !== lastState && (state === "waiting" || state === "ended"))
      console.log(`${state} ${reason}`.trim());
    lastState = state;
    if (state === "ended") resolve();
  });
});

const view = store.view(id);
for (const item of view?.output ?? [])
  if (item.type === "message") console.dir(item.block_list, { depth: null });
const gatewayView: unknown = await (await fetch(`${api}/tasks/${id}`)).json();
console.log(`equal to the gateway's state: ${isDeepStrictEqual(view, gatewayView)}`);
store.close();
