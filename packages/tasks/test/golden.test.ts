import { readFileSync } from "node:fs";
import {
  emptyTree,
  reduce,
  ReferencePool,
  taskView,
  TreeWriter,
  validateLog,
  type Block,
  type JsonObject,
  type LogEntry,
  type OutputItem,
  type TaskEvent,
  type TaskTree,
  type TaskWriter,
  type ToolOutput,
  type ToolResultWriter,
} from "@deltawire/tasks";
import { expect, test } from "vitest";

/*
 * The traces of the document that the task stream comes from, with its contradictions settled: unique ids, `image` for
 * blocks, markers where they stand, numbers only on blocks that can be cited, and the ways to send a picture as
 * alternatives. Each `.jsonl` is a log without numbers and times, each `.json` the object that it adds up to.
 */

test("an agent with a tool writes the document's events", () => {
  const log = oneAgent(wholeImage);
  expect(bare(log.entries)).toEqual(lines("one-agent"));
});

test("the events of an agent with a tool add up to the document's object", () => {
  const events = numbered("one-agent");
  expect(validateLog(events, { complete: true })).toBeUndefined();
  expect(taskView(reduce(emptyTree, events))).toEqual(object("one-agent"));
});

test.each([
  ["image-whole", wholeImage],
  ["image-announced", announcedImage],
  ["image-growing", growingImage],
])("the document's %s is one of three ways to the same result", (name, write) => {
  const log = oneAgent(write);
  const result = bare(log.entries).filter(({ output_index }) => output_index === 2);
  expect(result).toEqual(lines(name));
  expect(taskView(log.state)).toEqual(object("one-agent"));
});

test("a sub-agent writes the document's events within those of its parent", () => {
  expect(bare(subAgent().entries)).toEqual(lines("sub-agent"));
});

test("the events of a sub-agent add up to the document's objects on both levels", () => {
  const events = numbered("sub-agent");
  expect(validateLog(events, { complete: true })).toBeUndefined();
  const state = reduce(emptyTree, events);
  expect(taskView(state)).toEqual(object("sub-agent"));
  expect(taskView(state, "call_help")).toEqual(object("sub-agent.child"));
});

test("what the model sees is public only where it is asked for, and always in the private part", () => {
  for (const [name, run] of [
    ["one-agent", (include?: readonly "content"[]) => oneAgent(wholeImage, include)],
    ["sub-agent", subAgent],
  ] as const) {
    const expected = object(`${name}.content`);
    const open = run(["content"]);
    expect(
      contents(Object.values(open.state.tasks).flatMap(({ output }) => output as OutputItem[])),
    ).toEqual(expected);
    const kept = run().entries.flatMap(({ event, private: priv }) =>
      event.type === "task.output_item.done" && priv?.["content"] !== undefined
        ? [[event.item.id, priv["content"]]]
        : [],
    );
    expect(Object.fromEntries(kept)).toEqual(expected);
  }
});

interface Log {
  entries: LogEntry[];
  state: TaskTree;
}

const weather = '{"temperature":"15C","condition":"Sunny"}';
const image_url = { url: "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAA..." };
const answer = "The weather in Paris is sunny with a temperature of 15C.[^1]";
const usage = { input_tokens: 10, output_tokens: 10, total_tokens: 20 };
const total = { input_tokens: 20, output_tokens: 20, total_tokens: 40 };
const output: ToolOutput = {
  message_content: [
    { type: "text", text: weather, id: "w" },
    { type: "image_url", image_url, id: "w" },
  ],
  block_list: [
    { type: "text", text: weather, id: "w" },
    { type: "image", image_url, id: "w" },
  ],
};

type WriteImage = (result: ToolResultWriter, image: Block & { type: "image" }) => void;

function wholeImage(...[result, image]: Parameters<WriteImage>): void {
  result.block(image);
}

function announcedImage(...[result, image]: Parameters<WriteImage>): void {
  result.openImage({ id: 1 });
  result.block(image);
}

function growingImage(...[result, image]: Parameters<WriteImage>): void {
  result.partialImage(image);
  result.partialImage(image);
  result.block(image);
}

function oneAgent(write: WriteImage, include?: readonly "content"[]): Log {
  const { tree, entries, create } = newTree(include);
  const task = create("task_weather", "weather");
  const decided = ["Decided to call ", "get_weather function."];
  const pieces = ['{"', "location", '":"', "Paris", ",", " France", '"}'];
  asksForWeather(task, decided, pieces, write);
  return { entries, state: tree.state };
}

function subAgent(include?: readonly "content"[]): Log {
  const { tree, entries, create } = newTree(include);
  const parent = create("task_weather", "weather");
  parent.roundStarted(1, "demo");
  thinks(parent, [
    ["Thinking about the weather in Paris."],
    ["Decided to call ask_for_help function."],
  ]);
  const call = parent.toolCall("call_help", "ask_for_help");
  call.done(
    '{"name":"WeatherAgent","description":"An agent that provides weather information.","prompt":"Get the current weather in Paris, France."}',
  );
  parent.roundDone(1, "tool_calls", usage);
  const result = parent.toolResult("call_help");
  const child = create("call_help", "WeatherAgent", "task_weather");
  const found = asksForWeather(
    child,
    ["Decided to call ", "get_weather function."],
    ['{"location":"Paris', ', France"}'],
    wholeImage,
  );
  const { content, references } = new ReferencePool().addChild(
    "call_help",
    found.cited(answer),
    answer,
    result.itemId,
  );
  for (const reference of references) parent.referenceAdded(reference);
  result.done({ content });
  answers(parent);
  return { entries, state: tree.state };
}

function newTree(include?: readonly "content"[]) {
  const entries: LogEntry[] = [];
  const ids = new Map<string, number>();
  const tree = new TreeWriter({
    newId: (prefix) => {
      ids.set(prefix, (ids.get(prefix) ?? 0) + 1);
      return `${prefix}_${ids.get(prefix)}`;
    },
    now: () => "2026-01-01T00:00:00.000Z",
    emit: (entry) => entries.push(entry),
    ...(include === undefined ? {} : { include }),
  });
  const create = (taskId: string, agent: string, parent?: string) => {
    const task = tree.create(taskId, {
      root_task_id: "task_weather",
      ...(parent === undefined ? {} : { parent_task_id: parent, parent_call_id: taskId }),
      attempt: 1,
      depth: parent === undefined ? 0 : 1,
      agent,
      model: "demo",
      limits: { rounds: 10 },
    });
    task.working();
    return task;
  };
  return { tree, entries, create };
}

function asksForWeather(
  task: TaskWriter,
  decided: string[],
  pieces: string[],
  write: WriteImage,
): ReferencePool {
  task.roundStarted(1, "demo");
  thinks(task, [["Thinking about the weather ", "in Paris."], decided]);
  const call = task.toolCall("call_weather", "get_weather");
  for (const piece of pieces) call.argumentsDelta(piece);
  call.done(pieces.join(""));
  task.roundDone(1, "tool_calls", usage);
  const result = task.toolResult("call_weather");
  const pool = new ReferencePool();
  const { content, blocks, references } = pool.add(output, result.itemId);
  for (const block of blocks)
    if (block.type === "image") write(result, block);
    else result.block(block);
  for (const reference of references) task.referenceAdded(reference);
  result.done({ content });
  answers(task);
  return pool;
}

function thinks(task: TaskWriter, thoughts: string[][]): void {
  const reasoning = task.reasoning();
  for (const deltas of thoughts) {
    for (const delta of deltas) reasoning.summaryDelta(delta);
    reasoning.summaryDone();
  }
  reasoning.done();
}

function answers(task: TaskWriter): void {
  task.roundStarted(2, "demo");
  const message = task.message();
  message.text(answer);
  message.done({ content: [{ type: "text", text: answer }] });
  task.roundDone(2, "stop", usage);
  task.completed(total);
}

function contents(items: readonly OutputItem[]): JsonObject {
  return Object.fromEntries(
    items.flatMap((item) =>
      (item.type === "tool_result" || item.type === "message") && item.content !== undefined
        ? [[item.id, item.content as unknown as JsonObject]]
        : [],
    ),
  );
}

function bare(entries: readonly LogEntry[]): JsonObject[] {
  return entries.map(({ json }) => {
    const { sequence_number: _number, ts: _ts, ...event } = JSON.parse(json) as JsonObject;
    return event;
  });
}

function lines(name: string): JsonObject[] {
  const file = read(`${name}.jsonl`);
  return file
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as JsonObject);
}

function numbered(name: string): TaskEvent[] {
  return lines(name).map(
    (event, sequence_number) => ({ ...event, sequence_number }) as unknown as TaskEvent,
  );
}

function object(name: string): JsonObject {
  return JSON.parse(read(`${name}.json`)) as JsonObject;
}

function read(name: string): string {
  return readFileSync(new URL(`golden/${name}`, import.meta.url), "utf8");
}
