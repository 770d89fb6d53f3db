import { findBlobHashes } from "../../blobs.ts";
import type { JsonValue } from "../../json.ts";
import type { OutputItem, RetractedItem } from "../../items.ts";
import type { TaskState } from "../../state.ts";
import { hasEnded } from "../../task-status.ts";
import { toWellFormedJson } from "../../well-formed.ts";
import type { ChatVariable } from "../chat-store.ts";
import { maxMessages, createTooManyMessagesProblem } from "../chat-limits.ts";
import { isPlainObject, createProblem, type ValueCheck } from "../value-checks.ts";
import type { AnswerVersion, Chat, ChatNode } from "../chat-types.ts";
import { omitBlocks } from "../answer-task.ts";
import { upgradeNode } from "../upgrade-answer.ts";
import { upgradeChatSettings } from "../upgrade-settings.ts";
import { findChatFaults } from "../validate-chat.ts";
import { isBase64, parseMediaType } from "./file-blobs.ts";
import { checkChatFile, checkNode } from "./check-chat-file.ts";
import { checkJson, limitProblems, checkId } from "./file-checks.ts";
import { checkReplay } from "./check-replay.ts";
import type {
  BlobReader,
  FileBlob,
  ImportResult,
  ImportedChat,
  ImportEnvironment,
} from "./import-types.ts";
import { runToEnd } from "./run-to-end.ts";

export const chatFileFormat = "deltawire.chat";
const chatFileVersion = 1;

/** Complete chats: all branches and versions, the replays of answers, and all referenced blobs. */
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

export interface ChatToJsonOptions {
  readonly chat: Chat;
  readonly replays: Readonly<Record<string, readonly JsonValue[]>>;
  readonly variables?: readonly ChatVariable[];
  readonly blobs: BlobReader;
  readonly exported_at: string;
}

/** Exports a chat. The placeholders of private values are omitted, because they never leave the server. */
export function chatToJson({
  chat,
  replays,
  variables,
  blobs,
  exported_at,
}: ChatToJsonOptions): ChatFile {
  const versions = listAnswerVersionIds(chat);
  // The text of running answers has not been checked for lone surrogates yet.
  const exportedChat = toWellFormedJson({
    chat: omitPendingResults(chat),
    replays: Object.fromEntries(Object.entries(replays).filter(([id]) => versions.has(id))),
    ...(variables === undefined || variables.length === 0 ? {} : { variables }),
  });
  const referencedBlobs: Record<string, FileBlob> = {};
  for (const hash of findBlobHashes(JSON.stringify(exportedChat))) {
    const blob = referencedBlobs[hash] ?? blobs(hash);
    if (blob !== undefined) referencedBlobs[hash] = blob;
  }
  return {
    format: chatFileFormat,
    version: chatFileVersion,
    exported_at,
    chats: [exportedChat],
    blobs: referencedBlobs,
  };
}

/** Omits results that are waiting for approval, because a user may still reject them. */
function omitPendingResults(chat: Chat): Chat {
  const nodes = Object.entries(chat.nodes).map(([id, node]): [string, ChatNode] => {
    if (node.kind !== "answer" || !node.versions.some(isUnfinished)) return [id, node];
    const versions = node.versions.map(({ approvals, ...version }) => ({
      ...version,
      ...(approvals && { approvals: approvals.map(omitBlocks) }),
    }));
    return [id, { ...node, versions }];
  });
  return { ...chat, nodes: Object.fromEntries(nodes) };
}

/**
 * Returns the chats of a file under new ids, or the problems of the first check that fails. Answers that were running when the
 * file was written become aborted: their tasks do not exist here.
 */
export function chatsFromJson(value: unknown, environment: ImportEnvironment): ImportResult {
  return runToEnd(chatsFromJsonSteps(value, environment));
}

export function* chatsFromJsonSteps(
  value: unknown,
  environment: ImportEnvironment,
): Generator<void, ImportResult> {
  const problems = yield* runChecks(
    () => [checkVersion(value)],
    () => [checkCounts(value)],
    () => checkParts(value, checkJson, () => checkJson),
    () => checkParts(value, checkChatFile, (part) => partChecks[part]),
    () => [checkContents(value as ChatFile, environment)],
  );
  yield;
  if (problems.length > 0) return { ok: false, problems: limitProblems(problems) };
  const file = value as ChatFile;
  return {
    ok: true,
    chats: file.chats.map(({ chat, replays, variables = [] }): ImportedChat => ({
      chat: {
        ...upgradeChatSettings(chat),
        chat_id: environment.newId("chat"),
        nodes: importNodes(chat.nodes),
      },
      replays,
      variables,
    })),
    blobs: file.blobs,
  };
}

/** Runs the checks in order up to the first that finds problems: later checks rely on earlier ones. */
function* runChecks(...checks: readonly (() => Iterable<string[]>)[]): Generator<void, string[]> {
  for (const check of checks) {
    const problems: string[] = [];
    for (const results of check()) {
      // Not `push(...results)`: there may be more problems than a call can have arguments.
      for (const problem of results) problems.push(problem);
      yield;
    }
    if (problems.length > 0) return problems;
  }
  return [];
}

type ChatFilePart = "nodes" | "replays";

const partChecks: Record<ChatFilePart, ValueCheck> = {
  nodes: (value, path) => checkNode(value, path),
  replays: (value, path) => checkReplay(value, path),
};

/** Checks the file without nodes and replays first, then each of them in a separate step: there may be thousands. */
function* checkParts(
  value: unknown,
  checkOutline: ValueCheck,
  checkPart: (part: ChatFilePart) => ValueCheck,
): Generator<string[]> {
  const parts: { path: string; key: string; part: ChatFilePart; value: unknown }[] = [];
  const extractPart = (part: ChatFilePart, record: unknown, path: string): unknown => {
    if (!isPlainObject(record) || !isPlainObject(record[part])) return record;
    for (const [key, entry] of Object.entries(record[part]))
      parts.push({ path: `${path}.${part}.${key.slice(0, 100)}`, key, part, value: entry });
    return { ...record, [part]: {} };
  };
  const toOutline = (entry: unknown, path: string): unknown => {
    if (!isPlainObject(entry)) return entry;
    const chat = extractPart("nodes", entry["chat"], `${path}.chat`);
    return extractPart("replays", "chat" in entry ? { ...entry, chat } : entry, path);
  };
  const file =
    isPlainObject(value) && Array.isArray(value["chats"])
      ? {
          ...value,
          chats: value["chats"].map((entry, index) => toOutline(entry, `chats[${index}]`)),
        }
      : value;
  yield checkOutline(file, "");
  for (const { path, key, part, value: entry } of parts)
    yield [...checkId(key, path), ...checkPart(part)(entry, path)];
}

/** Must be checked first, because the other checks only apply to this version. */
function checkVersion(value: unknown): string[] {
  if (!isPlainObject(value)) return createProblem("", "a chat file must be an object");
  if (value["format"] !== chatFileFormat)
    return createProblem("format", `must be "${chatFileFormat}"`);
  return value["version"] === chatFileVersion
    ? []
    : createProblem("version", `must be ${chatFileVersion}: other versions cannot be read`);
}

/** Rejects chats that are too large before the rest of the file is checked. */
function checkCounts(value: unknown): string[] {
  const chats = isPlainObject(value) && Array.isArray(value["chats"]) ? value["chats"] : [];
  return chats.flatMap((entry: unknown, index) => {
    const chat = isPlainObject(entry) ? entry["chat"] : undefined;
    const nodes = isPlainObject(chat) ? chat["nodes"] : undefined;
    const count = isPlainObject(nodes) ? Object.keys(nodes).length : 0;
    return count > maxMessages ? createTooManyMessagesProblem(count, `chats[${index}]`) : [];
  });
}

function checkContents({ chats, blobs }: ChatFile, environment: ImportEnvironment): string[] {
  if (chats.length === 0) return createProblem("chats", "must have at least one chat");
  return [
    ...chats.flatMap((entry, index) => checkChat(entry, `chats[${index}]`)),
    ...Object.entries(blobs).flatMap(([hash, blob]) => checkBlob(hash, blob, environment)),
  ];
}

function checkChat({ chat, replays }: ChatFile["chats"][number], path: string): string[] {
  const answers = listAnswerVersionIds(chat);
  return [
    ...findChatFaults(chat).flatMap((fault) => createProblem(`${path}.chat`, fault)),
    ...Object.keys(replays).flatMap((id) =>
      answers.has(id) ? [] : createProblem(`${path}.replays.${id}`, "the chat has no such answer"),
    ),
  ];
}

function listAnswerVersionIds({ nodes }: Chat): Set<string> {
  const ids = new Set<string>();
  for (const node of Object.values(nodes))
    if (node.kind === "answer") for (const { version_id } of node.versions) ids.add(version_id);
  return ids;
}

function checkBlob(
  hash: string,
  { media_type, base64 }: FileBlob,
  environment: ImportEnvironment,
): string[] {
  const path = `blobs.${hash}`;
  if (parseMediaType(media_type) === undefined)
    return createProblem(`${path}.media_type`, "must be a media type, such as image/png");
  if (typeof base64 !== "string" || !isBase64(base64))
    return createProblem(`${path}.base64`, "must be base64");
  return environment.hashBlob(base64) === hash
    ? []
    : createProblem(`${path}.base64`, "does not match its hash");
}

function importNodes(nodes: Chat["nodes"]): Record<string, ChatNode> {
  return Object.fromEntries(
    Object.entries(nodes).map(([id, storedNode]) => {
      const node = upgradeNode(storedNode);
      return node.kind === "answer" && node.versions.some(isUnfinished)
        ? [id, { ...node, versions: node.versions.map(stopVersion) }]
        : [id, node];
    }),
  );
}

/** True if the answer or a child task is running, or an approval is pending. In a file, child tasks may outlive their answer. */
function isUnfinished({ status, child_tasks = {}, approvals = [] }: AnswerVersion): boolean {
  return (
    status === "running" ||
    approvals.some((approval) => approval.status === "pending") ||
    Object.values(child_tasks).some((task) => !hasEnded(task.status))
  );
}

function stopVersion(version: AnswerVersion): AnswerVersion {
  if (!isUnfinished(version)) return version;
  const { waiting: _waiting, child_tasks, approvals, ...rest } = version;
  const stoppedTasks = Object.entries(child_tasks ?? {}).map(([id, task]) => [id, stopTask(task)]);
  return {
    ...rest,
    ...(version.status === "running"
      ? { status: "aborted", output: version.output.map(stopItem) }
      : {}),
    ...(child_tasks && {
      child_tasks: Object.fromEntries(stoppedTasks) as NonNullable<typeof child_tasks>,
    }),
    ...(approvals && {
      approvals: approvals.map((approval) =>
        approval.status === "pending" ? { ...omitBlocks(approval), status: "expired" } : approval,
      ),
    }),
  };
}

function stopTask(task: TaskState): TaskState {
  if (hasEnded(task.status)) return task;
  return { ...task, status: "canceled", output: task.output.map(stopItem) };
}

function stopItem<Item extends OutputItem | RetractedItem>(item: Item): Item {
  const isOpen =
    item.type !== "retracted" &&
    (item.status === "in_progress" ||
      item.status === "executing" ||
      item.status === "awaiting_approval");
  return isOpen ? { ...item, status: "incomplete" } : item;
}
