import { isObject, type JsonObject, type JsonValue } from "@deltawire/wire";
import type { Wire } from "../wires.ts";
import type { Conversation, ConversationPart, OfferedTool } from "./conversation.ts";
import { buildReasoning, formatCall, splitWords, type ReplyPlan } from "./reply-plan.ts";

/** A scripted conversation. */
interface Scene {
  /** The number of calls in each reply before the answer. */
  callCounts: readonly number[];
  /** A call must be returned with its own reasoning. */
  isReasoningRequired?: boolean;
  /** The status of the first reply after this many calls. Later replies are as scripted. */
  failures?: Readonly<Record<number, number>>;
  /** The answer has many words, and this time between them. */
  paceMs?: number;
}

const scenes = {
  text: { callCounts: [] },
  tool: { callCounts: [1] },
  parallel: { callCounts: [2] },
  chain: { callCounts: [1, 1, 1], isReasoningRequired: true },
  error: { callCounts: [1], failures: { 0: 429, 1: 503 } },
  cancel: { callCounts: [], paceMs: 100 },
  // A new process of the agent continues it with a second prompt, which gets an answer without calls.
  resume: { callCounts: [1], isReasoningRequired: true },
} as const satisfies Record<string, Scene>;

export type SceneName = keyof typeof scenes;

export const sceneNames = Object.keys(scenes) as SceneName[];

/** The prompt with which a scene starts. The mark is part of every id and text of the scene. */
export function buildPrompt(scene: SceneName, mark: string): string {
  return `Play scene ${scene} with mark ${mark}.`;
}

/** The second prompt of `resume`. */
export function buildRecallPrompt(mark: string): string {
  return `Recall scene resume with mark ${mark}.`;
}

export interface ScriptedCall {
  id: string;
  /** Appends the id to `ran.txt` and prints `output`. */
  command: string;
  output: string;
}

/** Returns the calls of a scene, by reply. */
export function listCalls(scene: SceneName, mark: string): ScriptedCall[][] {
  return scenes[scene].callCounts.map((count, reply) =>
    Array.from({ length: count }, (_, at) => {
      const id = `call_${mark}_${reply + 1}_${at + 1}`;
      return { id, command: `echo ${id} >> ran.txt; echo output-${id}`, output: `output-${id}` };
    }),
  );
}

/** The text of the answer at the end of a scene. */
export function buildAnswer(mark: string): string {
  return `The scene with mark ${mark} is done.`;
}

/** Returns the next reply of a conversation. The state is read off the request, so a repeated request gets the same reply. */
export function planReply(
  wire: Wire,
  { parts, tools }: Conversation,
  options: { isReasoningRequired: boolean },
): ReplyPlan {
  const start = findStart(parts);
  const shell = findShellTool(tools);
  // Agents also ask for titles and summaries.
  if (start === undefined || shell === undefined)
    return { reply: { text: ["A title"] }, faults: [], isRefused: false };
  const { scene, mark, isRecall } = start;
  const script: Scene = scenes[scene];
  const replies = listCalls(scene, mark);
  const answer = buildAnswer(mark);
  const made = parts.flatMap((part) => (part.kind === "call" ? [part.id] : []));
  const done = replies.filter((calls) => calls.every(({ id }) => made.includes(id))).length;
  const isRequired = options.isReasoningRequired && script.isReasoningRequired === true;
  const reasoningFaults = findReasoningFaults(wire, parts, mark, isRequired);
  const faults = [
    ...findCallFaults(parts, isRecall ? replies : replies.slice(0, done)),
    ...reasoningFaults,
  ];
  if (isRecall && !parts.some((part) => part.kind === "assistant" && part.text.includes(answer)))
    faults.push("the first answer is missing");
  const calls = isRecall ? undefined : replies[done];
  const status = isRecall ? undefined : script.failures?.[done];
  return {
    reply: {
      id: `${mark}_${isRecall ? "recall" : done + 1}`,
      ...buildReasoning(mark, done + 1),
      text: calls === undefined ? splitWords(buildText(script, mark)) : ["Step ", `${done + 1}.`],
      ...(calls === undefined ? {} : { calls: calls.map((call) => buildCall(call, shell)) }),
    },
    ...(status === undefined ? {} : { failure: { key: `${mark} ${done}`, status } }),
    ...(script.paceMs === undefined ? {} : { paceMs: script.paceMs }),
    faults,
    isRefused: reasoningFaults.length > 0,
  };
}

function findStart(parts: readonly ConversationPart[]) {
  for (const part of parts.toReversed()) {
    const [, verb, name, mark] =
      (part.kind === "user" && /\b(Play|Recall) scene (\w+) with mark (\w+)/.exec(part.text)) || [];
    const scene = sceneNames.find((each) => each === name);
    if (scene !== undefined && mark !== undefined)
      return { scene, mark, isRecall: verb === "Recall" };
  }
  return undefined;
}

/** Every call of the script has one result, the one of its command, and the calls are in order. */
function findCallFaults(
  parts: readonly ConversationPart[],
  replies: readonly ScriptedCall[][],
): string[] {
  const expected = replies.flat();
  const made = parts.flatMap((part) => (part.kind === "call" ? [part.id] : []));
  const faults: string[] = [];
  const ids = expected.map(({ id }) => id);
  if (made.join() !== ids.join()) faults.push(`calls ${made.join()} instead of ${ids.join()}`);
  for (const { id, output } of expected) {
    const results = parts.flatMap((part) =>
      part.kind === "result" && part.id === id ? [part.text] : [],
    );
    if (results.length !== 1) faults.push(`${results.length} results of ${id}`);
    else if (results[0]?.includes(output) !== true) faults.push(`result of ${id}: ${results[0]}`);
  }
  return faults;
}

/** Reasoning is compared by its text on Chat, and by its signature on the other APIs, which refuse unsigned reasoning. */
function findReasoningFaults(
  wire: Wire,
  parts: readonly ConversationPart[],
  mark: string,
  isRequired: boolean,
): string[] {
  return parts.flatMap((part) => {
    const [, reply] = (part.kind === "call" && /_(\d+)_\d+$/.exec(part.id)) || [];
    if (part.kind !== "call" || reply === undefined) return [];
    const { reasoning, sealed } = buildReasoning(mark, Number(reply));
    const { text, sealed: returnedSeal } = part.reasoning;
    if (!text && !returnedSeal)
      return isRequired ? [`${part.id} was returned without its reasoning`] : [];
    const isOwn = wire === "chat" ? text === reasoning.join("") : returnedSeal === sealed;
    return isOwn ? [] : [`reasoning of ${part.id}: ${JSON.stringify(part.reasoning)}`];
  });
}

function buildText({ paceMs }: Scene, mark: string): string {
  return paceMs === undefined ? buildAnswer(mark) : `Slow words about ${mark}. `.repeat(100);
}

/** A command in the form that the agent's shell tool declares. */
function buildCall({ id, command }: ScriptedCall, tool: OfferedTool) {
  const { properties = {}, required = [] } = tool.parameters;
  const name = findCommandParameter(tool) ?? "";
  const argumentsObject: JsonObject = {
    [name]: isListOf(tool, name) ? ["bash", "-lc", command] : command,
  };
  for (const each of Array.isArray(required) ? required : []) {
    if (typeof each !== "string" || each in argumentsObject) continue;
    const schema = isObject(properties) ? properties[each] : undefined;
    argumentsObject[each] = fillParameter(isObject(schema) ? schema["type"] : undefined);
  }
  return formatCall(id, tool.name, argumentsObject);
}

function fillParameter(type: JsonValue | undefined): JsonValue {
  if (type === "boolean") return false;
  if (type === "number" || type === "integer") return 1;
  return "Run a command";
}

function findShellTool(tools: readonly OfferedTool[]): OfferedTool | undefined {
  const candidates = tools.filter((tool) => findCommandParameter(tool) !== undefined);
  return candidates.find(({ name }) => /shell|exec|bash/i.test(name)) ?? candidates[0];
}

function findCommandParameter({ parameters: { properties } }: OfferedTool): string | undefined {
  return ["cmd", "command"].find((name) => isObject(properties) && isObject(properties[name]));
}

function isListOf({ parameters: { properties } }: OfferedTool, name: string): boolean {
  const schema = isObject(properties) ? properties[name] : undefined;
  return isObject(schema) && schema["type"] === "array";
}
