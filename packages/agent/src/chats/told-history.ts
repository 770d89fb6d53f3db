import { withoutMarkers, type BlobStore } from "@deltawire/tasks";
import { contextOf, nodeOf, picturesIn } from "@deltawire/tasks/chats";
import type {
  AnswerVersion,
  Chat,
  ContextEntry,
  UserNode,
  UserVersion,
} from "@deltawire/tasks/chats";
import type { InputItem, JsonObject } from "@deltawire/wire";
import { inputPart } from "../model/history.ts";
import { withUniqueNumbers } from "../model/history-references.ts";
import { leftOut, sentAsItIs } from "./attachment-notices.ts";
import { addressProblem, messageParts, seesNone, type PrivateValues } from "./attachments.ts";
import type { ModelAbilities } from "../model.ts";
import { timeOfMessage } from "./system-prompt.ts";

/** How a conversation is told to one model. */
export interface Telling {
  readonly model: string;
  readonly abilities: ModelAbilities;
  readonly blobs: BlobStore;
  /** Private values are masked, if given: what cannot be is said so. */
  readonly vault: PrivateValues | undefined;
  /** Which mask is on, if one is. */
  readonly mask: string | undefined;
  /** Where every message tells its time of day. */
  readonly timeZone: string | undefined;
  readonly turns: number;
  /** What a model gets back of its answers, by version. */
  readonly replays: Readonly<Record<string, readonly unknown[]>>;
}

export interface Told<What> {
  readonly told: What;
  readonly notices: readonly string[];
}

/**
 * What was said before a message, as items of the Responses wire: calls with their results and reasoning as the model made
 * them. The message itself is not in it, and neither is a placeholder, an error or anything hidden.
 */
export async function toldHistory(
  chat: Chat,
  message: UserNode,
  telling: Telling,
): Promise<Told<InputItem[]>> {
  const entries = contextOf(chat, { upTo: message.node_id, turns: telling.turns });
  const told: InputItem[] = [];
  const notices: string[] = [];
  const used = new Set<number>();
  for (const entry of entries) {
    if (entry.node.node_id === message.node_id) continue;
    const one = await toldEntry(entry, telling, used);
    told.push(...one.told);
    notices.push(...one.notices);
  }
  return { told, notices };
}

/** A user's message as the model is told it, for the newest one and for all before it alike. */
export function toldMessage(
  version: UserVersion,
  telling: Telling,
): ReturnType<typeof messageParts> {
  const { abilities, blobs, vault, timeZone } = telling;
  return messageParts(version, {
    abilities,
    blobs,
    vault,
    ...(timeZone === undefined ? {} : { timeNote: timeOfMessage(version.created_at, timeZone) }),
  });
}

/**
 * What the model gets back of an answer, from the version that it began with to the one that it came to. `used` are the
 * numbers of references before it, to which its own are added.
 */
export function toldAnswer(
  versions: readonly AnswerVersion[],
  telling: Telling,
  used: Set<number>,
): InputItem[] {
  return versions.flatMap((version) => {
    const replay = telling.replays[version.version_id] as readonly InputItem[] | undefined;
    const items =
      replay === undefined ? version.output.flatMap(wordsOfItem) : withUniqueNumbers(replay, used);
    const isOfThisMask = telling.mask === undefined || telling.mask === version.masked_with;
    return [...(isOfThisMask ? items : withoutSealed(items)), ...toldPictures(version, telling)];
  });
}

/**
 * What was sealed under another mask, or under none, may hold values that are private now, and nothing can be masked in it.
 * A call whose reasoning is gone must not say that it had some.
 */
function withoutSealed(items: readonly InputItem[]): InputItem[] {
  return items.flatMap((item): InputItem[] => {
    if (item.type === "function_call") {
      const { id: _id, ...call } = item;
      return [call];
    }
    const { encrypted_content: sealed } = item as JsonObject;
    return typeof sealed === "string" ? [] : [item];
  });
}

/**
 * Some servers give their calls the same ids in every reply. Within a task they were told apart, but answers that knew
 * nothing of each other may come together: then the later call has another id, the same in every request.
 */
export function withOwnCallIds(items: readonly InputItem[]): InputItem[] {
  const used = new Set<string>();
  const ids = new Map<string, string>();
  return items.map((item): InputItem => {
    if (item.type !== "function_call" && item.type !== "function_call_output") return item;
    const { call_id } = item;
    if (typeof call_id !== "string") return item;
    if (item.type === "function_call") ids.set(call_id, freeId(call_id, used));
    const id = ids.get(call_id) ?? call_id;
    return id === call_id ? item : { ...item, call_id: id };
  });
}

function freeId(id: string, used: Set<string>): string {
  let free = id;
  for (let number = 2; used.has(free); number += 1) free = `${id}_${number}`;
  used.add(free);
  return free;
}

/** The message that an answer answers. */
export function messageOfAnswer(chat: Chat, answerId: string): UserNode | undefined {
  const parent = nodeOf(chat, answerId)?.parent ?? null;
  const above = parent === null ? undefined : nodeOf(chat, parent);
  return above?.kind === "user" ? above : undefined;
}

async function toldEntry(
  entry: ContextEntry,
  telling: Telling,
  used: Set<number>,
): Promise<Told<InputItem[]>> {
  if (entry.kind === "answer")
    return {
      told: toldAnswer(entry.versions, telling, used),
      notices: pictureNotices(entry.versions, telling),
    };
  const { parts, notices } = await toldMessage(entry.version, telling);
  return {
    told: [{ type: "message", role: "user", content: parts.map(inputPart) }],
    notices,
  };
}

/** Of an answer that was written by hand or came without its own form: what it cites is not sent, and no marker either. */
function wordsOfItem(item: AnswerVersion["output"][number]): InputItem[] {
  if (item.type !== "message") return [];
  const said = item.block_list.map((block) => (block.type === "text" ? block.text : "")).join("");
  const text = withoutMarkers(said);
  if (text === "") return [];
  return [{ type: "message", role: "assistant", content: [{ type: "output_text", text }] }];
}

/** A model sees pictures in messages of the user only, those that another model made too. */
function toldPictures(version: AnswerVersion, { abilities, vault }: Telling): InputItem[] {
  const seen = abilities.images ? picturesIn(version) : [];
  const pictures = seen.filter(({ url }) => addressProblem(url, vault) === undefined);
  if (pictures.length === 0) return [];
  const content = pictures.map(({ url }) => inputPart({ type: "image_url", image_url: { url } }));
  const note = { type: "input_text", text: "[What was made above:]" };
  return [{ type: "message", role: "user", content: [note, ...content] }];
}

/** The same words for all of them, so that people read them once. */
function pictureNotices(
  versions: readonly AnswerVersion[],
  { abilities, vault }: Telling,
): string[] {
  const notices = versions.flatMap(picturesIn).flatMap(({ url }) => {
    const problem = abilities.images ? addressProblem(url, vault) : seesNone;
    if (problem !== undefined) return [leftOut(earlierPicture, problem)];
    return vault === undefined ? [] : [sentAsItIs(earlierPicture, "image")];
  });
  return [...new Set(notices)];
}

/** What a picture is called that does not stand beside the words. */
export const earlierPicture = "picture from earlier in this chat";
