import type { JsonValue, OutputItem } from "@deltawire/tasks";
import type {
  AnswerVersion,
  Chat,
  ChatNode,
  ChatToCreate,
  UserVersion,
} from "@deltawire/tasks/chats";
import { diceOf, lengthBetween, talk, type Dice, type Language } from "./talk.ts";

/** The store of the bench: so many chats of so many messages. */
export interface Library {
  chats: number;
  messages: number;
}

/** Words that nobody says by chance. */
export const planted = {
  /** In one message of some ten chats. */
  rareWord: "quokkaberry",
  rareChinese: "鲸鹏",
  /** In the twentieth part of the chats, those that were changed last long ago. */
  oldWord: "yesteryearly",
  /** Every chat has one of them, and none has both. */
  apart: ["oddfellowish", "evensteven"],
} as const;

/** A third of the chats has the one, every thousandth the other. */
export const tags = { common: "work", rare: "poems" } as const;

/** Of the bench's own, beside the library. */
export const longChat = { number: 0x7fffffff, messages: 2000 };

const lastDay = Date.parse("2026-10-01T00:00:00Z");
const threeYears = 3 * 365 * 24 * 3_600_000;

export function chatIdOf(number: number): string {
  return `chat_${(Math.imul(number, 0x9e3779b1) >>> 0).toString(16).padStart(24, "0")}`;
}

/** The chat of a number: the same whenever it is asked for. */
export function chatOf(number: number, { chats, messages }: Library): ChatToCreate {
  const dice = diceOf(Math.imul(number + 1, 1_000_003));
  const language: Language = number % 5 < 3 ? "en" : "zh";
  // The order of changes is not that of the rows.
  const age = ((number * 7919) % chats) / chats;
  const begun = lastDay - Math.floor(age * threeYears);
  const extra = extraWords({ number, chats, age, messages }, dice);
  const nodes: Record<string, ChatNode> = {};
  const chosen: Record<string, string> = {};
  const replays: Record<string, JsonValue[]> = {};
  const hex = number.toString(16).padStart(8, "0");
  const idOf = (prefix: string, nth: number) => `${prefix}_${hex}${String(nth).padStart(16, "0")}`;
  for (let nth = 0; nth < messages; nth += 1) {
    const node_id = idOf("node", nth);
    const parent = nth === 0 ? null : idOf("node", nth - 1);
    const created_at = new Date(begun + nth * 20_000).toISOString();
    const version = idOf("version", nth);
    const tree = {
      node_id,
      parent,
      children: nth + 1 < messages ? [idOf("node", nth + 1)] : [],
      created_at,
      pinned: false,
      hidden: false,
      version,
    };
    const said = { version_id: version, created_at, language, extra: extra.get(nth) ?? "" };
    if (nth % 2 === 0) {
      nodes[node_id] = { kind: "user", ...tree, versions: [message(dice, said)] };
    } else {
      const given = answer(dice, said);
      nodes[node_id] = { kind: "answer", ...tree, versions: [given] };
      if (given.output.length > 1) replays[version] = replayOf(given);
    }
    chosen[parent ?? ""] = node_id;
  }
  const chat: Chat = {
    chat_id: chatIdOf(number),
    title: talk(dice, language, 3 + dice.whole(3)),
    title_by: "model",
    created_at: new Date(begun).toISOString(),
    updated_at: new Date(begun + messages * 20_000).toISOString(),
    revision: messages / 2,
    settings: { model: "up/model" },
    tags: [
      ...(number % 3 === 0 ? [tags.common] : []),
      ...(number % 1000 === 100 ? [tags.rare] : []),
    ],
    pinned: number % 2000 === 7,
    nodes,
    roots: messages > 0 ? [idOf("node", 0)] : [],
    chosen,
    bookmarks: [],
  };
  return { chat, replays };
}

/** What is planted in a chat, by the number of the message. */
function extraWords(
  { number, chats, age, messages }: Library & { number: number; age: number },
  dice: Dice,
): Map<number, string> {
  const extra = new Map<number, string>();
  const plant = (word: string): void => {
    const nth = dice.whole(messages);
    extra.set(nth, `${extra.get(nth) ?? ""} ${word} `);
  };
  const seldom = Math.ceil(chats / 10);
  if (number % seldom === 3 % seldom) plant(planted.rareWord);
  if (number % seldom === 4 % seldom) plant(planted.rareChinese);
  if (age >= 0.95) plant(planted.oldWord);
  plant(planted.apart[number % 2] ?? "");
  return extra;
}

interface Said {
  version_id: string;
  created_at: string;
  language: Language;
  extra: string;
}

function message(dice: Dice, { version_id, created_at, language, extra }: Said): UserVersion {
  const text = talk(dice, language, lengthBetween(dice, 4, 80)) + extra;
  return { version_id, created_at, text, attachments: [], contexts: [] };
}

function answer(dice: Dice, { version_id, created_at, language, extra }: Said): AnswerVersion {
  const id = version_id.slice("version_".length);
  const text = talk(dice, language, lengthBetween(dice, 20, 300)) + extra;
  const used = dice.whole(8) === 0 ? toolUse(dice, id, language) : [];
  const [input_tokens, output_tokens] = [900 + dice.whole(9000), text.length >> 2];
  return {
    version_id,
    created_at,
    by: "model",
    status: "completed",
    model_type: "chat",
    model: "up/model",
    task_id: `task_${id}`,
    output: [
      ...used,
      {
        type: "message",
        id: `item_${id}`,
        role: "assistant",
        status: "completed",
        block_list: [{ type: "text", text }],
      },
    ],
    references: [],
    usage: { input_tokens, output_tokens, total_tokens: input_tokens + output_tokens },
    time_ms: 500 + dice.whole(20_000),
    notices: [],
  };
}

function toolUse(dice: Dice, id: string, language: Language): OutputItem[] {
  const call_id = `call_${id}`;
  const found = talk(dice, language, lengthBetween(dice, 30, 200));
  return [
    {
      type: "reasoning",
      id: `thought_${id}`,
      status: "completed",
      summary: [{ type: "text", text: talk(dice, language, 30) }],
    },
    {
      type: "tool_call",
      id: `asked_${id}`,
      call_id,
      name: "search_web",
      arguments: JSON.stringify({ query: talk(dice, language, 6) }),
      status: "completed",
      outcome: "completed",
    },
    {
      type: "tool_result",
      id: `got_${id}`,
      call_id,
      status: "completed",
      outcome: "completed",
      block_list: [{ type: "text", text: found }],
    },
  ];
}

/** What a model is told again of an answer that used a tool. */
function replayOf({ output }: AnswerVersion): JsonValue[] {
  return output.flatMap((item): JsonValue[] => {
    if (item.type === "tool_call") {
      const { call_id, name, arguments: given } = item;
      return [{ type: "function_call", call_id, name, arguments: given }];
    }
    const text =
      item.type === "reasoning" || item.type === "retracted"
        ? ""
        : item.block_list.map((block) => (block.type === "text" ? block.text : "")).join("\n");
    if (item.type === "tool_result")
      return [{ type: "function_call_output", call_id: item.call_id, output: text }];
    return item.type === "message" ? [{ type: "message", role: "assistant", content: text }] : [];
  });
}
