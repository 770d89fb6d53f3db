import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { longestTurn } from "../../../test/work-time.ts";
import type { Crowd, CrowdNews } from "./crowd-client.ts";
import { aGateway } from "./scene.ts";
import { stage } from "./task-stage.ts";

/* Many clients at once, each of which is cheap alone. */

type Ended = Omit<Extract<CrowdNews, { is: "ended" }>, "is">;

function startCrowd(crowd: Crowd): { answered: Promise<void>; ended: Promise<Ended> } {
  const child = fork(fileURLToPath(new URL("crowd-client.ts", import.meta.url)));
  onTestFinished(() => void child.kill());
  const answered = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<Ended>();
  child.on("message", ({ is, ...news }: CrowdNews) => {
    if (is === "answered") answered.resolve();
    else ended.resolve(news as Ended);
  });
  child.send(crowd);
  return { answered: answered.promise, ended: ended.promise };
}

const requestText = (line: string, port: number, headers: string[], body = ""): string =>
  [`${line} HTTP/1.1`, `host: 127.0.0.1:${port}`, "connection: close", ...headers, "", body].join(
    "\r\n",
  );

test("a thousand wrong tokens at once are refused without a long turn, and slowed down on the page", async () => {
  const { url } = await aGateway(
    '[server]\nport = 0\ndemo = true\ntokens = ["token-one-0123456789"]\n',
  );
  const port = Number(new URL(url).port);
  const body = '{"token":"wrong"}';
  const json = ["content-type: application/json", `content-length: ${body.length}`];
  const bearer = requestText("GET /v1/models", port, ["authorization: Bearer wrong-#"]);
  const signIn = requestText("POST /api/session", port, json, body);
  const results: Ended[] = [];
  const turn = await longestTurn(async () => {
    for (const text of [bearer, signIn])
      results.push(await startCrowd({ port, count: 1000, text, last: '"error"' }).ended);
  });
  const [byHeader, onPage] = results;
  expect(byHeader).toEqual({ statuses: { 401: 1000 }, complete: 1000 });
  const { 401: looked = 0, 429: refused = 0 } = onPage?.statuses ?? {};
  expect([looked + refused, onPage?.complete]).toEqual([1000, 1000]);
  expect(looked).toBeLessThan(20);
  expect(turn).toBeLessThan(400);
}, 60_000);

test("hundreds of followers get a long task and its end without a long turn", async () => {
  const { url, tasks } = await stage();
  const task = await tasks.task();
  const words = Array.from({ length: 20_000 }, (_, number) => `word number ${number} `);
  await task.say(words, { batch: 2000 });
  const port = Number(new URL(url).port);
  const text = requestText(`GET /api/tasks/${task.id}/events`, port, []);
  const followers = startCrowd({ port, count: 300, text, last: "task.completed" });
  expect(await longestTurn(() => followers.answered)).toBeLessThan(200);
  const ending = longestTurn(async () => {
    await task.end();
    expect(await followers.ended).toEqual({ statuses: { 200: 300 }, complete: 300 });
  });
  expect(await ending).toBeLessThan(200);
}, 60_000);
