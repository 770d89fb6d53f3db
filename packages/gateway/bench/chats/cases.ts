import type { ChatListReply, ChatReply, ChatSearchReply } from "@deltawire/tasks/chats";
import { sendTimed, catchUp, type TimedReply } from "./timed-request.ts";
import { toChatId, longChat, plantedTexts, tags, type ChatLibrary } from "./chat-library.ts";
import { createRandom, wordFamily } from "./generate-text.ts";

/** A request that is measured repeatedly. */
export interface BenchCase {
  /** The goal that it belongs to. */
  group: "list" | "open" | "search" | "other";
  name: string;
  run: (round: number) => Promise<TimedReply>;
  /** The same data from a minimal server. */
  floor?: (round: number, reply: TimedReply) => Promise<TimedReply>;
  /** Throws if the reply is wrong. */
  check?: (reply: TimedReply) => void;
}

/** Cases that change nothing. `url`: of the gateway; `floor`: of the baseline server. */
export async function readingCases(
  url: string,
  floor: string,
  library: ChatLibrary,
): Promise<BenchCase[]> {
  const api = `${url}/api/chats`;
  return [
    ...(await listCases(api, floor, library)),
    ...openCases(api, floor, library),
    ...searchCases(api, floor, library),
    await createFeedCase(api, floor, library),
  ];
}

/** Cases that change the store. */
export async function createWritingCases(url: string, library: ChatLibrary): Promise<BenchCase[]> {
  const api = `${url}/api/chats`;
  return [...createEditCases(api, library), await importCase(api, library)];
}

const pageSize = 50;

async function listCases(api: string, floor: string, { chats }: ChatLibrary): Promise<BenchCase[]> {
  const page = (name: string, query: string, count = pageSize): BenchCase => ({
    group: "list",
    name,
    run: () => sendTimed({ url: `${api}?limit=${pageSize}${query}` }),
    floor: () => sendTimed({ url: `${floor}/list?limit=${count}` }),
    check: (reply) => {
      const listed = parseReply<ChatListReply>(reply).data.length;
      if (listed !== count) throw new Error(`${name}: ${listed} chats instead of ${count}`);
    },
  });
  return [
    page("the first page of 50", ""),
    page("with a tag that a third has", `&tag=${tags.common}`),
    page("with a tag that every thousandth has", `&tag=${tags.rare}`, Math.ceil(chats / 1000)),
    page("a page half-way down", `&before=${await findMiddleCursor(api, chats)}`),
  ];
}

/** The last chat of the page before the one in the middle. */
async function findMiddleCursor(api: string, chats: number): Promise<string> {
  let before = "";
  for (let passed = 0; passed < chats / 2; passed += pageSize) {
    const url = `${api}?limit=${pageSize}${before === "" ? "" : `&before=${before}`}`;
    before = parseReply<ChatListReply>(await sendTimed({ url })).next_before ?? before;
  }
  return before;
}

function openCases(api: string, floor: string, { chats, messages }: ChatLibrary): BenchCase[] {
  const random = createRandom(77);
  const some = Array.from({ length: 1000 }, () => toChatId(random.integer(chats)));
  const one = (round: number) => some[round % some.length] ?? "";
  const openCase = (
    name: string,
    group: BenchCase["group"],
    idOf: (round: number) => string,
  ): BenchCase => ({
    group,
    name,
    run: (round) => sendTimed({ url: `${api}/${idOf(round)}` }),
    floor: (round) => sendTimed({ url: `${floor}/chat?id=${idOf(round)}` }),
  });
  return [
    openCase(`a chat of ${messages} messages, another each time`, "open", one),
    openCase(`a chat of ${longChat.messages} messages`, "other", () => toChatId(longChat.number)),
  ];
}

const shown = 20;
/** No chat must be found. */
const noMatch = -1;

function searchCases(api: string, floor: string, { chats, messages }: ChatLibrary): BenchCase[] {
  const chatsPerRareWord = Math.ceil(chats / 10);
  const rare = Math.ceil(chats / chatsPerRareWord);
  const many = Math.min(shown, Math.ceil((chats * messages) / 4000));
  const some = Math.min(shown, Math.floor((chats * messages) / 50_000));
  const searchCase = (name: string, words: string, least: number, more = ""): BenchCase => ({
    group: "search",
    name: `${name}: ${words}`,
    run: () => sendTimed({ url: `${api}?q=${encodeURIComponent(words)}&limit=${shown}${more}` }),
    floor: () => sendTimed({ url: `${floor}/list?limit=${shown}` }),
    check: (reply) => {
      const found = parseReply<ChatSearchReply>(reply).data.length;
      if (least === noMatch ? found > 0 : found < least)
        throw new Error(`${words}: found ${found} instead of ${least} chats`);
    },
  });
  return [
    searchCase("a rare word", plantedTexts.rareWord, Math.min(rare, shown)),
    searchCase("a very common word", "the", many),
    searchCase("a rare Chinese word", plantedTexts.rareChinese, Math.min(rare, shown)),
    searchCase("a very common Chinese word", "我们", many),
    searchCase("a common character", "的", many),
    searchCase("four characters", "我们可以", some),
    searchCase("the first two letters of many", "in", many),
    searchCase("six letters of many", wordFamily, many),
    searchCase("two common words", "memory cache", many),
    searchCase("three words, one half typed", "search the ind", many),
    searchCase("two languages", "缓存 cache", some),
    searchCase("a word that does not occur", "zyzzyvax", noMatch),
    searchCase("two words, never together", plantedTexts.apart.join(" "), noMatch),
    searchCase("a word of the oldest chats", plantedTexts.oldWord, Math.min(shown, chats >> 5)),
    searchCase("a common word, a rare tag", "the", 1, `&tag=${tags.rare}`),
  ];
}

async function createFeedCase(
  api: string,
  floor: string,
  { chats }: ChatLibrary,
): Promise<BenchCase> {
  const changes = Math.min(1000, chats);
  const { data } = parseReply<ChatListReply>(await sendTimed({ url: `${api}?limit=100` }));
  const { stamp } = parseReply<{ stamp: number }>(
    await sendTimed({ url: `${api}/${toChatId(longChat.number)}` }),
  );
  // The long chat was created last, so nothing has changed since.
  const head = Math.max(stamp, ...data.map((chat) => chat.stamp));
  return {
    group: "other",
    name: `the feed's last ${changes} changes`,
    run: () => catchUp(`${api}/events?after=${head - changes}`, changes),
    floor: (_, { body }) => sendTimed({ url: `${floor}/bytes?size=${body.length}` }),
  };
}

function createEditCases(api: string, { chats, messages }: ChatLibrary): BenchCase[] {
  const pinCase = (name: string, idOf: (round: number) => string): BenchCase => ({
    group: "other",
    name,
    run: async (round) => {
      const url = `${api}/${idOf(round)}`;
      const { revision, pinned } = parseReply<ChatReply>(await sendTimed({ url })).chat;
      const edits = [{ type: "pin_chat", value: !pinned }];
      return sendTimed({ url: `${url}/edits`, json: JSON.stringify({ edits, revision }) });
    },
  });
  return [
    pinCase(`an edit of a chat of ${messages} messages`, (round) => toChatId(round % chats)),
    pinCase(`an edit of one of ${longChat.messages} messages`, () => toChatId(longChat.number)),
  ];
}

async function importCase(api: string, { messages }: ChatLibrary): Promise<BenchCase> {
  const { body } = await sendTimed({ url: `${api}/${toChatId(1)}/export?format=json` });
  const json = body.toString();
  return {
    group: "other",
    name: `an import of ${messages} messages, ${(body.length / 1024).toFixed(0)} KiB of JSON`,
    run: () => sendTimed({ url: `${api}/import`, json }),
    floor: async () => {
      const startedAt = performance.now();
      JSON.parse(json);
      return { ms: performance.now() - startedAt, body };
    },
  };
}

function parseReply<Body>({ body }: TimedReply): Body {
  return JSON.parse(body.toString()) as Body;
}
