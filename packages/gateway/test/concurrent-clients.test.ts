import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { measureLongestBlock } from "../../../test/cpu-time.ts";
import type { LoadOptions, LoadReport } from "./load-clients.ts";
import { testGateway } from "./gateway-fixture.ts";
import { taskServerFixture } from "./task-server-fixture.ts";

/* Many clients at the same time, each of which costs little alone. */

type Ended = Omit<Extract<LoadReport, { status: "ended" }>, "status">;

function startLoadClients(options: LoadOptions): {
  answered: Promise<void>;
  ended: Promise<Ended>;
} {
  const child = fork(fileURLToPath(new URL("load-clients.ts", import.meta.url)));
  onTestFinished(() => void child.kill());
  const answered = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<Ended>();
  child.on("message", ({ status, ...report }: LoadReport) => {
    if (status === "answered") answered.resolve();
    else ended.resolve(report as Ended);
  });
  child.send(options);
  return { answered: answered.promise, ended: ended.promise };
}

const requestText = (line: string, port: number, headers: string[], body = ""): string =>
  [`${line} HTTP/1.1`, `host: 127.0.0.1:${port}`, "connection: close", ...headers, "", body].join(
    "\r\n",
  );

test("a thousand wrong tokens at once are rejected without blocking, and slowed down on the page", async () => {
  const { url } = await testGateway(
    '[server]\nport = 0\ndemo = true\ntokens = ["token-one-0123456789"]\n',
  );
  const port = Number(new URL(url).port);
  const body = '{"token":"wrong"}';
  const json = ["content-type: application/json", `content-length: ${body.length}`];
  const bearer = requestText("GET /v1/models", port, ["authorization: Bearer wrong-#"]);
  const signIn = requestText("POST /api/session", port, json, body);
  const results: Ended[] = [];
  const longestBlock = await measureLongestBlock(async () => {
    for (const text of [bearer, signIn])
      results.push(await startLoadClients({ port, count: 1000, text, endMarker: '"error"' }).ended);
  });
  const [byHeader, onPage] = results;
  expect(byHeader).toEqual({ statuses: { 401: 1000 }, complete: 1000 });
  const { 401: checked = 0, 429: rejected = 0 } = onPage?.statuses ?? {};
  expect([checked + rejected, onPage?.complete]).toEqual([1000, 1000]);
  expect(checked).toBeLessThan(20);
  expect(longestBlock).toBeLessThan(400);
}, 60_000);

test("hundreds of clients receive a long task and its end without blocking the event loop", async () => {
  const { url, tasks } = await taskServerFixture();
  const task = await tasks.startTask();
  const chunks = Array.from({ length: 20_000 }, (_, number) => `word number ${number} `);
  await task.emitText(chunks, { batch: 2000 });
  const port = Number(new URL(url).port);
  const text = requestText(`GET /api/tasks/${task.id}/events`, port, []);
  const followers = startLoadClients({ port, count: 300, text, endMarker: "task.completed" });
  expect(await measureLongestBlock(() => followers.answered)).toBeLessThan(200);
  const ending = measureLongestBlock(async () => {
    await task.end();
    expect(await followers.ended).toEqual({ statuses: { 200: 300 }, complete: 300 });
  });
  expect(await ending).toBeLessThan(200);
}, 60_000);
