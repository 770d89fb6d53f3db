import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { defineAgent, defineTool } from "@deltawire/agent";
import type { Locator } from "playwright-core";
import { afterAll, expect, test } from "vitest";
import { upstreamToml } from "./gateway.ts";
import { getCallButton, getMessages } from "./chat-actions.ts";
import { lastAnswer, sendMessage, setupBrowserFixture, takeScreenshot } from "./browser-fixture.ts";

/*
 * The screenshot in README.md and docs/page.md. When the page's appearance changes, run this test, check
 * artifacts/page/readme.png, and copy it to assets/page.png.
 */

const stringSchema = { type: "string" };
const timetable =
  "06:58, arrives 08:56, 94 €. 08:20, arrives 10:18, 61 €. 09:26, arrives 11:28, 78 €.";

const findTrains = defineTool<{ to: string; day: string }>({
  name: "find_trains",
  description: "Trains to a city.",
  input: {
    type: "object",
    properties: { to: stringSchema, day: stringSchema },
    required: ["to", "day"],
  },
  effect: "pure",
  run: async ({ to, day }) => {
    await sleep(600);
    const found = { type: "text", text: timetable, id: to, title: `Trains to ${to}, ${day}` };
    return { message_content: [found], block_list: [found] };
  },
});
const getForecast = defineTool<{ city: string }>({
  name: "get_forecast",
  description: "The weather of the coming days in a city.",
  input: { type: "object", properties: { city: stringSchema }, required: ["city"] },
  effect: "pure",
  run: async ({ city }) => {
    await sleep(400);
    const words = "Friday: sunny until 4 pm, then rain. 19 °C.";
    const found = { type: "text", text: words, id: city, title: `Forecast for ${city}` };
    return { message_content: [found], block_list: [found] };
  },
});

const bookSeat = defineTool<{ train: string }>({
  name: "book_seat",
  description: "Books a seat.",
  input: { type: "object", properties: { train: stringSchema }, required: ["train"] },
  effect: "once",
  approval: "ask_always",
  run: ({ train }) => `Booked: ${train}.`,
});

const model = "local/small";
const forecaster = defineAgent({
  name: "forecaster",
  description: "Knows the weather.",
  instructions: "You tell the weather.",
  model,
  tools: [getForecast],
});
const planner = defineAgent({
  name: "trip-planner",
  description: "Plans trips.",
  instructions: "You plan trips.",
  model,
  tools: [findTrains, bookSeat],
  agents: [forecaster],
});

const question = "Book me a train to Lyon that arrives by 11 on Friday. Will it rain?";

const advice = `Three trains leave in the morning [^1]:

| Train | Arrives | Price | Note |
| --- | --- | --- | --- |
| 06:58 | 08:56 | 94 € | two hours early |
| **08:20** | **10:18** | **61 €** | **in time, and the cheapest** |
| 09:26 | 11:28 | 78 € | too late |

The **08:20** it is. Friday is sunny until four, then it rains [^2]: take an umbrella.`;

interface Reply {
  usage: { input: number; output: number };
  text?: string[];
  calls?: { id: string; name: string; arguments: string }[];
}

/** A scripted model: its reply depends on the agent and the number of tool results. */
function createNextReply(request: string): Reply {
  const results = request.split('"role":"tool"').length - 1;
  const usage = { input: 900 + 400 * results, output: 120 };
  if (request.includes("You tell the weather."))
    return results === 0
      ? { usage, calls: [call("get_forecast", { city: "Lyon" })] }
      : { usage, text: ["Friday in Lyon is sunny until four, then it rains. [^1]"] };
  if (results === 0) return { usage, calls: [call("find_trains", { to: "Lyon", day: "Friday" })] };
  if (results === 1) {
    const wanted = { name: "forecaster", prompt: "Will it rain in Lyon on Friday?" };
    return { usage, calls: [call("ask_for_help", wanted)] };
  }
  return {
    usage,
    text: advice.split(/(?<= )/),
    calls: [call("book_seat", { train: "Friday 08:20 to Lyon, second class, window" })],
  };
}

function call(name: string, values: object) {
  return { id: `call_${name}`, name, arguments: JSON.stringify(values) };
}

function* chunksOf({ usage, text = [], calls = [] }: Reply) {
  for (const content of text) yield { choices: [{ index: 0, delta: { content } }] };
  for (const [index, { id, ...called }] of calls.entries()) {
    const tool_calls = [{ index, id, type: "function", function: called }];
    yield { choices: [{ index: 0, delta: { tool_calls } }] };
  }
  const finish_reason = calls.length > 0 ? "tool_calls" : "stop";
  yield { choices: [{ index: 0, delta: {}, finish_reason }] };
  const { input: prompt_tokens, output: completion_tokens } = usage;
  const total_tokens = prompt_tokens + completion_tokens;
  yield { choices: [], usage: { prompt_tokens, completion_tokens, total_tokens } };
}

async function answerRequest(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = JSON.stringify(await json(request));
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (const chunk of chunksOf(createNextReply(body)))
    response.write(`data: ${JSON.stringify({ object: "chat.completion.chunk", ...chunk })}\n\n`);
  response.end("data: [DONE]\n\n");
}

const upstream = createServer((request, response) => {
  if (request.method === "GET") response.end('{"object":"list","data":[]}');
  else void answerRequest(request, response);
}).listen(0, "127.0.0.1");
await once(upstream, "listening");
const { port } = upstream.address() as AddressInfo;
afterAll(() => void upstream.close());
const fixture = setupBrowserFixture({
  agents: [planner, forecaster],
  toml: upstreamToml("local", `http://127.0.0.1:${port}/v1`, { models: ["small"] }),
});

const otherChats = [
  ["Release notes for 0.4", "The notes are ready. I left out what only changes tests."],
  ["Why is the build slow?", "Two thirds of the time goes into one step: types are checked twice."],
  ["Names for a sailing boat", "Petrel, Kittiwake, Halcyon, Second Wind, Fair Enough."],
  ["巴黎的天气", "今天晴，最高 15 度，傍晚可能有小雨。"],
] as const;

test("the screenshot shows everything that its caption promises", async () => {
  for (const [title, answer] of otherChats.toReversed())
    await fixture.importChat({
      title,
      messages: [
        { role: "user", content: title },
        { role: "assistant", content: answer },
      ],
    });
  const hash = await fixture.createChat({ agent: "trip-planner" }, "A day in Lyon");
  const viewport = { width: 1280, height: 976 };
  const tab = await (await fixture.newUser({ colorScheme: "light", viewport })).tab(hash);
  await sendMessage(tab, question);

  const answer = lastAnswer(tab);
  const approval = answer.getByRole("group", { name: /book_seat/ });
  await approval.getByRole("button", { name: "Approve" }).waitFor();
  const inView: Locator[] = [
    getMessages(tab).getByText(question),
    getCallButton(answer, /^find_trains .*Lyon.* Done [\d.]+ s$/),
    getCallButton(answer, /^Sub-agent forecaster .* Done [\d.]+ s$/).and(
      tab.locator("[aria-expanded=false]"),
    ),
    answer.getByRole("table"),
    answer.getByRole("button", { name: "Source 1: Trains to Lyon, Friday" }),
    answer.getByRole("button", { name: "Source 2: Forecast for Lyon" }),
    approval.getByText("Allow book_seat?"),
    approval.getByRole("button", { name: "Approve" }),
    tab.getByRole("button", { name: "Approvals: 1 waiting for you" }),
  ];
  for (const [title] of otherChats) inView.push(tab.getByRole("link", { name: title }));
  for (const each of inView)
    await expect.poll(() => each.evaluate(isInViewport), { message: String(each) }).toBe(true);
  await takeScreenshot(tab, "readme");
});

/** True if an element is completely visible and not covered. */
function isInViewport(element: Element): boolean {
  const { left, right, top, bottom } = element.getBoundingClientRect();
  const corners = [
    [left + 2, top + 2],
    [right - 2, bottom - 2],
  ] as const;
  return corners.every(([x, y]) => {
    const there = document.elementFromPoint(x, y);
    return there !== null && (element.contains(there) || there.contains(element));
  });
}
