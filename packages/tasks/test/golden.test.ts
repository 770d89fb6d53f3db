import { readFileSync } from "node:fs";
import {
  emptyTree,
  reduce,
  ReferencePool,
  buildTaskView,
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
 * The examples of the original specification of the task stream, corrected where it contradicts itself: unique ids, `image`
 * blocks, positions of markers, numbers only on blocks that can be cited, and the three ways to send an image. Each `.jsonl`
 * is a log without sequence numbers and times; each `.json` is the view that it reduces to.
 */

test("the writer produces the specified events for an agent with a tool", () => {
  const log = runOneAgent(completeImage);
  expect(withoutNumbers(log.entries)).toEqual(readLog("one-agent"));
});

test("the events of an agent with a tool reduce to the specified view", () => {
  const events = readEvents("one-agent");
  expect(validateLog(events, { complete: true })).toBeUndefined();
  expect(buildTaskView(reduce(emptyTree, events))).toEqual(readView("one-agent"));
});

test.each([
  ["image-complete", completeImage],
  ["image-announced", announcedImage],
  ["image-previews", imageWithPreviews],
])("an image that is sent as in %s.jsonl results in the specified view", (name, write) => {
  const log = runOneAgent(write);
  const result = withoutNumbers(log.entries).filter(({ output_index }) => output_index === 2);
  expect(result).toEqual(readLog(name));
  expect(buildTaskView(log.state)).toEqual(readView("one-agent"));
});

test("the writer produces the specified events for a sub-agent and its parent", () => {
  expect(withoutNumbers(runSubAgent().entries)).toEqual(readLog("sub-agent"));
});

test("the events of a sub-agent reduce to the specified views of both tasks", () => {
  const events = readEvents("sub-agent");
  expect(validateLog(events, { complete: true })).toBeUndefined();
  const state = reduce(emptyTree, events);
  expect(buildTaskView(state)).toEqual(readView("sub-agent"));
  expect(buildTaskView(state, "call_help")).toEqual(readView("sub-agent.child"));
});

test("the content for the model is always private data, and also public with include: [content]", () => {
  for (const [name, run] of [
    ["one-agent", (include?: readonly "content"[]) => runOneAgent(completeImage, include)],
    ["sub-agent", runSubAgent],
  ] as const) {
    const expected = readView(`${name}.content`);
    const withContent = run(["content"]);
    expect(
      collectContents(
        Object.values(withContent.state.tasks).flatMap(({ output }) => output as OutputItem[]),
      ),
    ).toEqual(expected);
    const privateContents = run().entries.flatMap(({ event, private: priv }) =>
      event.type === "task.output_item.done" && priv?.["content"] !== undefined
        ? [[event.item.id, priv["content"]]]
        : [],
    );
    expect(Object.fromEntries(privateContents)).toEqual(expected);
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
const totalUsage = { input_tokens: 20, output_tokens: 20, total_tokens: 40 };
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

function completeImage(...[result, image]: Parameters<WriteImage>): void {
  result.block(image);
}

function announcedImage(...[result, image]: Parameters<WriteImage>): void {
  result.openImage({ id: 1 });
  result.block(image);
}

function imageWithPreviews(...[result, image]: Parameters<WriteImage>): void {
  result.partialImage(image);
  result.partialImage(image);
  result.block(image);
}

function runOneAgent(write: WriteImage, include?: readonly "content"[]): Log {
  const { tree, entries, create } = createRecordingTree(include);
  const task = create("task_weather", "weather");
  const summary = ["Decided to call ", "get_weather function."];
  const pieces = ['{"', "location", '":"', "Paris", ",", " France", '"}'];
  callWeatherTool(task, summary, pieces, write);
  return { entries, state: tree.state };
}

function runSubAgent(include?: readonly "content"[]): Log {
  const { tree, entries, create } = createRecordingTree(include);
  const parent = create("task_weather", "weather");
  parent.roundStarted(1, "demo");
  writeReasoning(parent, [
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
  const childPool = callWeatherTool(
    child,
    ["Decided to call ", "get_weather function."],
    ['{"location":"Paris', ', France"}'],
    completeImage,
  );
  const { content, references } = new ReferencePool().addChild(
    "call_help",
    childPool.findCitedGroups(answer),
    answer,
    result.itemId,
  );
  for (const reference of references) parent.referenceAdded(reference);
  result.done({ content });
  writeAnswer(parent);
  return { entries, state: tree.state };
}

function createRecordingTree(include?: readonly "content"[]) {
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

function callWeatherTool(
  task: TaskWriter,
  summary: string[],
  pieces: string[],
  write: WriteImage,
): ReferencePool {
  task.roundStarted(1, "demo");
  writeReasoning(task, [["Thinking about the weather ", "in Paris."], summary]);
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
  writeAnswer(task);
  return pool;
}

function writeReasoning(task: TaskWriter, summaries: string[][]): void {
  const reasoning = task.reasoning();
  for (const deltas of summaries) {
    for (const delta of deltas) reasoning.summaryDelta(delta);
    reasoning.summaryDone();
  }
  reasoning.done();
}

function writeAnswer(task: TaskWriter): void {
  task.roundStarted(2, "demo");
  const message = task.message();
  message.text(answer);
  message.done({ content: [{ type: "text", text: answer }] });
  task.roundDone(2, "stop", usage);
  task.completed(totalUsage);
}

function collectContents(items: readonly OutputItem[]): JsonObject {
  return Object.fromEntries(
    items.flatMap((item) =>
      (item.type === "tool_result" || item.type === "message") && item.content !== undefined
        ? [[item.id, item.content as unknown as JsonObject]]
        : [],
    ),
  );
}

function withoutNumbers(entries: readonly LogEntry[]): JsonObject[] {
  return entries.map(({ json }) => {
    const { sequence_number: _number, ts: _ts, ...event } = JSON.parse(json) as JsonObject;
    return event;
  });
}

function readLog(name: string): JsonObject[] {
  const file = read(`${name}.jsonl`);
  return file
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as JsonObject);
}

function readEvents(name: string): TaskEvent[] {
  return readLog(name).map(
    (event, sequence_number) => ({ ...event, sequence_number }) as unknown as TaskEvent,
  );
}

function readView(name: string): JsonObject {
  return JSON.parse(read(`${name}.json`)) as JsonObject;
}

function read(name: string): string {
  return readFileSync(new URL(`golden/${name}`, import.meta.url), "utf8");
}
