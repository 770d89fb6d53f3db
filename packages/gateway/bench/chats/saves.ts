import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { openStore } from "@deltawire/store";
import { applyEdit, lastNodeOnPath } from "@deltawire/tasks/chats";
import type {
  AnswerEnd,
  Chat,
  ChatEdit,
  EditEnvironment,
  StoredChat,
  NewAnswer,
} from "@deltawire/tasks/chats";
import { Vault } from "@deltawire/agent";
import { quantile } from "../../../../bench/measure.ts";
import { formatMs, printTable, formatRatio } from "../../../../bench/report.ts";
import { toChatId, longChat } from "./chat-library.ts";
import { createRandom, generateText } from "./generate-text.ts";

/*
 * Measures edits in the store, and masking, in a separate process. Arguments: a folder, the file of the store, its number of
 * chats, the number of rounds. Prints its tables.
 */

const [folder = "", path = "", chats = "1", rounds = "20"] = process.argv.slice(2);
const warmUp = 3;
const random = createRandom(5);
let ids = 0;
const editEnvironment: EditEnvironment = {
  newId: (prefix) => `${prefix}_bench${(ids += 1)}`,
  now: () => new Date().toISOString(),
};

const slot: NewAnswer = {
  by: "model",
  status: "running",
  model_type: "chat",
  task_id: "task_bench",
  output: [],
  references: [],
  notices: [],
};

const store = await openStore({ path });
await measureSaves();
await store.close();
measureMasking();
process.send?.({});
process.disconnect?.();

interface SaveVariant {
  name: string;
  /** Not timed; returns the function to be timed. */
  prepare: (round: number) => Promise<() => Promise<void>>;
}

async function measureSaves(): Promise<void> {
  const bare = openBareDatabase(join(folder, "bare.db"));
  const long = toChatId(longChat.number);
  const one = (round: number) => toChatId(round % Number(chats));
  const rows = await runInTurns([
    {
      name: "bare SQLite: two rows and one changed, durable",
      prepare: async () => {
        const text = JSON.stringify({ text: generateText(random, "en", 60) });
        return async () => bare.save(text);
      },
    },
    {
      name: "a message and the slot of its answer",
      prepare: async (round) => saveEdit(await open(one(round)), withSentMessage),
    },
    {
      name: "the end of an answer of 100 words",
      prepare: async (round) => saveEdit(await open(one(round)), withEndedAnswer),
    },
    { name: "a mark", prepare: async (round) => saveEdit(await open(one(round)), withMark) },
    {
      name: `a mark in a chat of ${longChat.messages}`,
      prepare: async () => saveEdit(await open(long), withMark),
    },
  ]);
  bare.close();
  const floor = quantile(rows[0]?.took ?? [], 0.5);
  printTable(
    `Edits as the store saves them, each durable, in chats of the library; ${rounds} rounds`,
    ["", "p50 ms", "p95", "max", "x bare SQLite"],
    rows.map(({ name, took }) => [
      name,
      formatMs(quantile(took, 0.5)),
      formatMs(quantile(took, 0.95)),
      formatMs(Math.max(...took)),
      formatRatio(quantile(took, 0.5) / floor),
    ]),
  );
}

async function open(chatId: string): Promise<StoredChat> {
  const storedChat = await store.getChat(chatId);
  if (storedChat === undefined) throw new Error(`${chatId} does not exist`);
  return storedChat;
}

function saveEdit(storedChat: StoredChat, change: (chat: Chat) => Chat): () => Promise<void> {
  return async () => {
    const saved = await store.saveChat(storedChat, change(storedChat.chat));
    if (saved === "conflict") throw new Error("somebody else writes to the store of the bench");
  };
}

function editChat(chat: Chat, edit: ChatEdit): { chat: Chat; node_id?: string } {
  const edited = applyEdit(chat, edit, editEnvironment);
  if (!edited.ok) throw new Error(`${edit.type}: ${edited.reason}`);
  return edited;
}

function withSentMessage(chat: Chat): Chat {
  const parent = lastNodeOnPath(chat)?.node_id ?? null;
  const message = { text: generateText(random, "en", 20) };
  const { chat: withMessage, node_id = "" } = editChat(chat, {
    type: "add_message",
    parent,
    message,
  });
  return editChat(withMessage, { type: "add_answer", parent: node_id, answer: slot }).chat;
}

/** Saves the answer whose slot the previous case has created. */
function withEndedAnswer(chat: Chat): Chat {
  const node = lastNodeOnPath(chat);
  if (node?.kind !== "answer") throw new Error("there is no answer to end");
  const { node_id, version: version_id } = node;
  const text = generateText(random, "en", 100);
  const end: AnswerEnd = {
    status: "completed",
    output: [
      { type: "message", id: "item", role: "assistant", block_list: [{ type: "text", text }] },
    ],
    references: [],
  };
  return editChat(chat, { type: "finish_answer", node_id, version_id, end }).chat;
}

function withMark(chat: Chat): Chat {
  const node = lastNodeOnPath(chat);
  if (node === undefined) throw new Error("the chat is empty");
  return editChat(chat, { type: "pin", node_id: node.node_id, value: !node.pinned }).chat;
}

/** The same kind of rows in a bare database, in the same process. */
function openBareDatabase(file: string): { save: (text: string) => void; close: () => void } {
  const database = new DatabaseSync(file);
  database.exec(`
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = FULL;
    CREATE TABLE rows (number INTEGER PRIMARY KEY, json TEXT);
    INSERT INTO rows (json) VALUES ('');
  `);
  const insert = database.prepare("INSERT INTO rows (json) VALUES (?)");
  const update = database.prepare("UPDATE rows SET json = ? WHERE number = 1");
  const save = (text: string): void => {
    database.exec("BEGIN IMMEDIATE");
    update.run(text);
    insert.run(text);
    insert.run(text);
    database.exec("COMMIT");
  };
  return { save, close: () => database.close() };
}

/** Runs the cases in order; the first rounds do not count. */
async function runInTurns(
  ways: readonly SaveVariant[],
): Promise<{ name: string; took: number[] }[]> {
  const all = ways.map(({ name }) => ({ name, took: [] as number[] }));
  for (let round = 0; round < warmUp + Number(rounds); round += 1) {
    for (const [nth, { prepare }] of ways.entries()) {
      const run = await prepare(round);
      const startedAt = performance.now();
      await run();
      if (round >= warmUp) all[nth]?.took.push(performance.now() - startedAt);
    }
  }
  return all;
}

function measureMasking(): void {
  const size = 1024 * 1024;
  const kinds = ["email", "phone", "card", "key", "password", "id"] as const;
  const plain = generatePlainText(size);
  const secret = plain.replaceAll(
    /(.{2000})/gs,
    "$1 write to ann.lee@example.org or 138 1234 5678 ",
  );
  const fields = kinds.map((kind) => ({ kind }));
  const email = /[\w.+-]{1,80}@[\w-]{1,62}\.[a-z]{2,24}/g;
  const ways: Record<string, (text: string) => string> = {
    "one plain pattern replaced": (text) => text.replaceAll(email, "{{EMAIL}}"),
    "six kinds masked": (text) => new Vault({ fields, known: [], tag: "x7f3" }).mask(text),
  };
  const timesOf = (run: () => void): number => {
    const took = Array.from({ length: 8 }, () => {
      const startedAt = performance.now();
      run();
      return performance.now() - startedAt;
    });
    return quantile(took.slice(2), 0.5);
  };
  const rows = Object.entries(ways).map(([name, mask]) => ({
    name,
    plain: timesOf(() => mask(plain)),
    secret: timesOf(() => mask(secret)),
  }));
  printTable(
    "Masking of 1 MiB of text",
    ["", "ms, nothing private", "ms, a value in 1,000 characters", "x floor"],
    rows.map(({ name, plain, secret }) => [
      name,
      formatMs(plain),
      formatMs(secret),
      formatRatio(secret / (rows[0]?.secret ?? NaN)),
    ]),
  );
}

function generatePlainText(size: number): string {
  let text = "";
  while (text.length < size)
    text += `${generateText(random, text.length % 3 === 0 ? "zh" : "en", 200)}\n`;
  return text.slice(0, size);
}
