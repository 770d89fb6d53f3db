import { SseDecoder, type SseEvent } from "@deltawire/wire";
import type { TaskEvent, StreamEvent } from "@deltawire/tasks";
import { request, type IncomingMessage } from "node:http";

/*
 * The clients of the benchmark, in a separate process. For each `StreamOrder` of the parent they start tasks, follow each with one
 * connection, and answer with a `StreamResult`.
 */

export interface StreamOrder {
  /** The gateways that run the tasks, in turn. */
  startUrls: string[];
  /** Where each task is followed, at the same index. */
  followUrls: string[];
  agent: string;
  streams: number;
  /** How often each stream starts another task. */
  repeats: number;
}

export interface StreamResult {
  elapsedMs: number;
  /** Number of stored events that were received. */
  events: number;
  /** Milliseconds from the model's write of a delta until its arrival here. */
  lags: { p50: number; p99: number };
}

process.on("message", (order: StreamOrder) => {
  void run(order).then(
    (result) => process.send?.(result),
    (error: unknown) => {
      console.error(error);
      process.exit(1);
    },
  );
});
process.on("disconnect", () => process.exit());
process.send?.("ready");

async function run({
  startUrls,
  followUrls,
  agent,
  streams,
  repeats,
}: StreamOrder): Promise<StreamResult> {
  const lags: number[] = [];
  const startedAt = performance.now();
  const counts = await Promise.all(
    Array.from({ length: streams }, async (_, index) => {
      const position = index % startUrls.length;
      let events = 0;
      for (let turn = 0; turn < repeats; turn += 1) {
        const taskId = await startTask(startUrls[position] ?? "", agent);
        events += await follow(followUrls[position] ?? "", taskId, lags);
      }
      return events;
    }),
  );
  const elapsedMs = performance.now() - startedAt;
  const sorted = Float64Array.from(lags).toSorted();
  const pick = (fraction: number) => sorted[Math.floor((sorted.length - 1) * fraction)] ?? NaN;
  const events = counts.reduce((sum, count) => sum + count, 0);
  return { elapsedMs, events, lags: { p50: pick(0.5), p99: pick(0.99) } };
}

async function startTask(url: string, agent: string): Promise<string> {
  const response = await open(`${url}/api/tasks`, { agent, input: "Go on." });
  let text = "";
  for await (const chunk of response.setEncoding("utf8")) text += String(chunk);
  return (JSON.parse(text) as { task_id: string }).task_id;
}

/** Resolves with the number of events, after the last one. Throws if one is missing or repeated. */
async function follow(url: string, taskId: string, lags: number[]): Promise<number> {
  const response = await open(`${url}/api/tasks/${taskId}/events?after=-1&replay=all`);
  const decoder = new SseDecoder({ utf8: new TextDecoder() });
  const frames: SseEvent[] = [];
  let head = -1;
  for await (const bytes of response) {
    decoder.push(bytes as Uint8Array, frames);
    const now = performance.timeOrigin + performance.now();
    for (const { data } of frames.splice(0)) {
      const event = JSON.parse(data) as TaskEvent | StreamEvent;
      if (!("sequence_number" in event)) continue;
      const { sequence_number: last, coalesced_from: first = last } = event;
      if (first !== head + 1) throw new Error(`${taskId}: ${first} follows ${head}`);
      head = last;
      if (event.type === "task.text.delta")
        for (const [, time] of event.delta.matchAll(/@([\d.]+)/g)) lags.push(now - Number(time));
    }
  }
  return head + 1;
}

function open(url: string, body?: object): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const method = body === undefined ? "GET" : "POST";
    const headers = body === undefined ? {} : { "content-type": "application/json" };
    const sent = request(url, { method, agent: false, headers }, (response) => {
      if ((response.statusCode ?? 0) < 300) return resolve(response);
      response.resume();
      reject(new Error(`${method} ${url}: ${response.statusCode}`));
    });
    sent.on("error", reject);
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}
