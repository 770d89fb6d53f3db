import type { JsonValue, OutputItem } from "@deltawire/tasks";
import type {
  AnswerVersion,
  Chat,
  ChatNode,
  NewChatRecord,
  UserVersion,
} from "@deltawire/tasks/chats";
import {
  createRandom,
  pickLength,
  generateText,
  type SeededRandom,
  type Language,
} from "./generate-text.ts";

/** The size of the store: number of chats, and messages per chat. */
export interface ChatLibrary {
  chats: number;
  messages: number;
}

/** Words that do not occur by chance. */
export const plantedTexts = {
  /** In one message of about ten chats. */
  rareWord: "quokkaberry",
  rareChinese: "鲸鹏",
  /** In a twentieth of the chats: those with the oldest changes. */
  oldWord: "yesteryearly",
  /** Every chat has one of them, none has both. */
  apart: ["oddfellowish", "evensteven"],
} as const;

/** A third of the chats has `common`, every thousandth `rare`. */
export const tags = { common: "work", rare: "poems" } as const;

/** An additional chat. */
export const longChat = { number: 0x7fffffff, messages: 2000 };

const lastDay = Date.parse("2026-10-01T00:00:00Z");
const threeYears = 3 * 365 * 24 * 3_600_000;

export function toChatId(number: number): string {
  return `chat_${(Math.imul(number, 0x9e3779b1) >>> 0).toString(16).padStart(24, "0")}`;
}

/** Builds the chat with this number, always the same one. */
export function buildChat(number: number, { chats, messages }: ChatLibrary): NewChatRecord {
  const random = createRandom(Math.imul(number + 1, 1_000_003));
  const language: Language = number % 5 < 3 ? "en" : "zh";
  // The order of changes differs from the order of the rows.
  const age = ((number * 7919) % chats) / chats;
  const startedAt = lastDay - Math.floor(age * threeYears);
  const extra = createExtraWords({ number, chats, age, messages }, random);
  const nodes: Record<string, ChatNode> = {};
  const chosen: Record<string, string> = {};
  const replays: Record<string, JsonValue[]> = {};
  const hex = number.toString(16).padStart(8, "0");
  const createId = (prefix: string, nth: number) =>
    `${prefix}_${hex}${String(nth).padStart(16, "0")}`;
  for (let nth = 0; nth < messages; nth += 1) {
    const node_id = createId("node", nth);
    const parent = nth === 0 ? null : createId("node", nth - 1);
    const created_at = new Date(startedAt + nth * 20_000).toISOString();
    const version = createId("version", nth);
    const tree = {
      node_id,
      parent,
      children: nth + 1 < messages ? [createId("node", nth + 1)] : [],
      created_at,
      pinned: false,
      hidden: false,
      version,
    };
    const options = { version_id: version, created_at, language, extra: extra.get(nth) ?? "" };
    if (nth % 2 === 0) {
      nodes[node_id] = { kind: "user", ...tree, versions: [createMessage(random, options)] };
    } else {
      const answerVersion = answer(random, options);
      nodes[node_id] = { kind: "answer", ...tree, versions: [answerVersion] };
      if (answerVersion.output.length > 1) replays[version] = buildReplay(answerVersion);
    }
    chosen[parent ?? ""] = node_id;
  }
  const chat: Chat = {
    chat_id: toChatId(number),
    title: generateText(random, language, 3 + random.integer(3)),
    title_by: "model",
    created_at: new Date(startedAt).toISOString(),
    updated_at: new Date(startedAt + messages * 20_000).toISOString(),
    revision: messages / 2,
    settings: { model: "up/model" },
    tags: [
      ...(number % 3 === 0 ? [tags.common] : []),
      ...(number % 1000 === 100 ? [tags.rare] : []),
    ],
    pinned: number % 2000 === 7,
    nodes,
    roots: messages > 0 ? [createId("node", 0)] : [],
    chosen,
    bookmarks: [],
  };
  return { chat, replays };
}

/** Returns the planted words of a chat, by message index. */
function createExtraWords(
  { number, chats, age, messages }: ChatLibrary & { number: number; age: number },
  random: SeededRandom,
): Map<number, string> {
  const extra = new Map<number, string>();
  const plant = (word: string): void => {
    const nth = random.integer(messages);
    extra.set(nth, `${extra.get(nth) ?? ""} ${word} `);
  };
  const seldom = Math.ceil(chats / 10);
  if (number % seldom === 3 % seldom) plant(plantedTexts.rareWord);
  if (number % seldom === 4 % seldom) plant(plantedTexts.rareChinese);
  if (age >= 0.95) plant(plantedTexts.oldWord);
  plant(plantedTexts.apart[number % 2] ?? "");
  return extra;
}

interface MessageInput {
  version_id: string;
  created_at: string;
  language: Language;
  extra: string;
}

function createMessage(
  random: SeededRandom,
  { version_id, created_at, language, extra }: MessageInput,
): UserVersion {
  const text = generateText(random, language, pickLength(random, 4, 80)) + extra;
  return { version_id, created_at, text, attachments: [], contexts: [] };
}

function answer(
  random: SeededRandom,
  { version_id, created_at, language, extra }: MessageInput,
): AnswerVersion {
  const id = version_id.slice("version_".length);
  const text = generateText(random, language, pickLength(random, 20, 300)) + extra;
  const used = random.integer(8) === 0 ? createToolUse(random, id, language) : [];
  const [input_tokens, output_tokens] = [900 + random.integer(9000), text.length >> 2];
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
    time_ms: 500 + random.integer(20_000),
    notices: [],
  };
}

function createToolUse(random: SeededRandom, id: string, language: Language): OutputItem[] {
  const call_id = `call_${id}`;
  const found = generateText(random, language, pickLength(random, 30, 200));
  return [
    {
      type: "reasoning",
      id: `thought_${id}`,
      status: "completed",
      summary: [{ type: "text", text: generateText(random, language, 30) }],
    },
    {
      type: "tool_call",
      id: `asked_${id}`,
      call_id,
      name: "search_web",
      arguments: JSON.stringify({ query: generateText(random, language, 6) }),
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

/** Builds the items that are sent to the model again for an answer with a tool call. */
function buildReplay({ output }: AnswerVersion): JsonValue[] {
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
