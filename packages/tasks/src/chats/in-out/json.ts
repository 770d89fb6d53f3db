import { blobsIn } from "../../blobs.ts";
import type { JsonValue } from "../../json.ts";
import type { OutputItem, RetractedItem } from "../../items.ts";
import type { TaskState } from "../../state.ts";
import { hasEnded } from "../../task-status.ts";
import { wellFormedJson } from "../../well-formed.ts";
import type { ChatVariable } from "../chat-store.ts";
import { maxMessages, tooManyMessages } from "../chat-limits.ts";
import { isPlainObject, problem, type Check } from "../check-value.ts";
import type { AnswerVersion, Chat, ChatNode } from "../shapes.ts";
import { withoutBlocks } from "../answer-task.ts";
import { upgradeNode } from "../upgrade-answer.ts";
import { chatFaults } from "../validate-chat.ts";
import { isBase64, mediaTypeOf } from "./blob-text.ts";
import { checkChatFile, checkNode } from "./chat-file.ts";
import { checkJson, first, isId } from "./check-json.ts";
import { checkReplay } from "./check-replay.ts";
import type { BlobReader, FileBlob, Imported, ImportedChat, ImportWorld } from "./imported.ts";
import { runToEnd } from "./run-to-end.ts";

export const chatFileFormat = "deltawire.chat";
const chatFileVersion = 1;

/** Chats whole: all branches and versions, what models are told of them, and every blob that they refer to. */
export interface ChatFile {
  readonly format: typeof chatFileFormat;
  readonly version: typeof chatFileVersion;
  readonly exported_at: string;
  readonly chats: readonly {
    readonly chat: Chat;
    readonly replays: Readonly<Record<string, readonly JsonValue[]>>;
    readonly variables?: readonly ChatVariable[];
  }[];
  readonly blobs: Readonly<Record<string, FileBlob>>;
}

export interface ChatToJson {
  readonly chat: Chat;
  readonly replays: Readonly<Record<string, readonly JsonValue[]>>;
  readonly variables?: readonly ChatVariable[];
  readonly blobs: BlobReader;
  readonly exported_at: string;
}

/** What stands for private values is no part of it, and never was one of a chat. */
export function chatToJson({ chat, replays, variables, blobs, exported_at }: ChatToJson): ChatFile {
  const versions = answerVersions(chat);
  // Of what runs, nobody has yet looked at what its model and its tools say.
  const whole = wellFormedJson({
    chat: withoutHeldResults(chat),
    replays: Object.fromEntries(Object.entries(replays).filter(([id]) => versions.has(id))),
    ...(variables === undefined || variables.length === 0 ? {} : { variables }),
  });
  const found: Record<string, FileBlob> = {};
  for (const hash of blobsIn(JSON.stringify(whole))) {
    const blob = found[hash] ?? blobs(hash);
    if (blob !== undefined) found[hash] = blob;
  }
  return {
    format: chatFileFormat,
    version: chatFileVersion,
    exported_at,
    chats: [whole],
    blobs: found,
  };
}

/** A result that a person has not released yet may still be refused, and then no export has it. */
function withoutHeldResults(chat: Chat): Chat {
  const nodes = Object.entries(chat.nodes).map(([id, node]): [string, ChatNode] => {
    if (node.kind !== "answer" || !node.versions.some(isUnfinished)) return [id, node];
    const versions = node.versions.map(({ approvals, ...version }) => ({
      ...version,
      ...(approvals && { approvals: approvals.map(withoutBlocks) }),
    }));
    return [id, { ...node, versions }];
  });
  return { ...chat, nodes: Object.fromEntries(nodes) };
}

/**
 * The chats of such a file under new ids, or what the first check that it does not pass has found. An answer that ran when
 * the file was written has stopped: its task is not here.
 */
export function chatsFromJson(value: unknown, world: ImportWorld): Imported {
  return runToEnd(chatsFromJsonSteps(value, world));
}

export function* chatsFromJsonSteps(value: unknown, world: ImportWorld): Generator<void, Imported> {
  const problems = yield* firstOf(
    () => [checkVersion(value)],
    () => [checkCounts(value)],
    () => checkParts(value, checkJson, () => checkJson),
    () => checkParts(value, checkChatFile, (part) => partChecks[part]),
    () => [checkWhole(value as ChatFile, world)],
  );
  yield;
  if (problems.length > 0) return { ok: false, problems: first(problems) };
  const file = value as ChatFile;
  return {
    ok: true,
    chats: file.chats.map(({ chat, replays, variables = [] }): ImportedChat => ({
      chat: { ...chat, chat_id: world.newId("chat"), nodes: imported(chat.nodes) },
      replays,
      variables,
    })),
    blobs: file.blobs,
  };
}

/** Each check relies on those before it. */
function* firstOf(...checks: readonly (() => Iterable<string[]>)[]): Generator<void, string[]> {
  for (const check of checks) {
    const problems: string[] = [];
    for (const found of check()) {
      // One by one: there may be more than a call can have arguments.
      for (const problem of found) problems.push(problem);
      yield;
    }
    if (problems.length > 0) return problems;
  }
  return [];
}

type Part = "nodes" | "replays";

const partChecks: Record<Part, Check> = {
  nodes: (value, path) => checkNode(value, path),
  replays: (value, path) => checkReplay(value, path),
};

/** The file without its nodes and replays, and then each of these: a chat can have thousands, and others have turns. */
function* checkParts(
  value: unknown,
  checkOutline: Check,
  checkPart: (part: Part) => Check,
): Generator<string[]> {
  const parts: { path: string; key: string; part: Part; value: unknown }[] = [];
  const without = (part: Part, given: unknown, path: string): unknown => {
    if (!isPlainObject(given) || !isPlainObject(given[part])) return given;
    for (const [key, each] of Object.entries(given[part]))
      parts.push({ path: `${path}.${part}.${key.slice(0, 100)}`, key, part, value: each });
    return { ...given, [part]: {} };
  };
  const outline = (one: unknown, path: string): unknown => {
    if (!isPlainObject(one)) return one;
    const chat = without("nodes", one["chat"], `${path}.chat`);
    return without("replays", "chat" in one ? { ...one, chat } : one, path);
  };
  const file =
    isPlainObject(value) && Array.isArray(value["chats"])
      ? { ...value, chats: value["chats"].map((one, at) => outline(one, `chats[${at}]`)) }
      : value;
  yield checkOutline(file, "");
  for (const { path, key, part, value: each } of parts)
    yield [...isId(key, path), ...checkPart(part)(each, path)];
}

/** First of all: what a later version says cannot be judged by the rules of this one. */
function checkVersion(value: unknown): string[] {
  if (!isPlainObject(value)) return problem("", "a file of chats must be an object");
  if (value["format"] !== chatFileFormat) return problem("format", `must be "${chatFileFormat}"`);
  return value["version"] === chatFileVersion
    ? []
    : problem("version", `must be ${chatFileVersion}: another program has written this file`);
}

/** Before anything is read of them. */
function checkCounts(value: unknown): string[] {
  const chats = isPlainObject(value) && Array.isArray(value["chats"]) ? value["chats"] : [];
  return chats.flatMap((one: unknown, index) => {
    const chat = isPlainObject(one) ? one["chat"] : undefined;
    const nodes = isPlainObject(chat) ? chat["nodes"] : undefined;
    const count = isPlainObject(nodes) ? Object.keys(nodes).length : 0;
    return count > maxMessages ? tooManyMessages(count, `chats[${index}]`) : [];
  });
}

function checkWhole({ chats, blobs }: ChatFile, world: ImportWorld): string[] {
  if (chats.length === 0) return problem("chats", "must have at least one chat");
  return [
    ...chats.flatMap((one, index) => checkChat(one, `chats[${index}]`)),
    ...Object.entries(blobs).flatMap(([hash, blob]) => checkBlob(hash, blob, world)),
  ];
}

function checkChat({ chat, replays }: ChatFile["chats"][number], path: string): string[] {
  const answers = answerVersions(chat);
  return [
    ...chatFaults(chat).flatMap((fault) => problem(`${path}.chat`, fault)),
    ...Object.keys(replays).flatMap((id) =>
      answers.has(id) ? [] : problem(`${path}.replays.${id}`, "there is no such answer"),
    ),
  ];
}

function answerVersions({ nodes }: Chat): Set<string> {
  const ids = new Set<string>();
  for (const node of Object.values(nodes))
    if (node.kind === "answer") for (const { version_id } of node.versions) ids.add(version_id);
  return ids;
}

function checkBlob(hash: string, { media_type, base64 }: FileBlob, world: ImportWorld): string[] {
  const path = `blobs.${hash}`;
  if (mediaTypeOf(media_type) === undefined)
    return problem(`${path}.media_type`, "must be a media type, such as image/png");
  if (typeof base64 !== "string" || !isBase64(base64))
    return problem(`${path}.base64`, "must be base64");
  return world.blobHash(base64) === hash
    ? []
    : problem(`${path}.base64`, "is not what its hash says");
}

function imported(nodes: Chat["nodes"]): Record<string, ChatNode> {
  return Object.fromEntries(
    Object.entries(nodes).map(([id, stored]) => {
      const node = upgradeNode(stored);
      return node.kind === "answer" && node.versions.some(isUnfinished)
        ? [id, { ...node, versions: node.versions.map(stoppedVersion) }]
        : [id, node];
    }),
  );
}

/** Whether anything in it runs or waits for a person. In a file, that can also be below an answer that has ended. */
function isUnfinished({ status, child_tasks = {}, approvals = [] }: AnswerVersion): boolean {
  return (
    status === "running" ||
    approvals.some((approval) => approval.status === "pending") ||
    Object.values(child_tasks).some((task) => !hasEnded(task.status))
  );
}

function stoppedVersion(version: AnswerVersion): AnswerVersion {
  if (!isUnfinished(version)) return version;
  const { waiting: _waiting, child_tasks, approvals, ...rest } = version;
  const stopped = Object.entries(child_tasks ?? {}).map(([id, task]) => [id, stoppedTask(task)]);
  return {
    ...rest,
    ...(version.status === "running"
      ? { status: "aborted", output: version.output.map(stoppedItem) }
      : {}),
    ...(child_tasks && {
      child_tasks: Object.fromEntries(stopped) as NonNullable<typeof child_tasks>,
    }),
    ...(approvals && {
      approvals: approvals.map((one) =>
        one.status === "pending" ? { ...withoutBlocks(one), status: "expired" } : one,
      ),
    }),
  };
}

function stoppedTask(task: TaskState): TaskState {
  if (hasEnded(task.status)) return task;
  return { ...task, status: "canceled", output: task.output.map(stoppedItem) };
}

function stoppedItem<Item extends OutputItem | RetractedItem>(item: Item): Item {
  const open =
    item.type !== "retracted" &&
    (item.status === "in_progress" ||
      item.status === "executing" ||
      item.status === "awaiting_approval");
  return open ? { ...item, status: "incomplete" } : item;
}
