import type { ChatListReply, ChatReply, ChatSearchReply } from "@deltawire/tasks/chats";
import { ask, catchUp, type Answered } from "./ask.ts";
import { chatIdOf, longChat, planted, tags, type Library } from "./library.ts";
import { diceOf, wordFamily } from "./talk.ts";

/** Something that a client asks of the gateway, again and again. */
export interface Case {
  /** What of the goal it belongs to. */
  group: "list" | "open" | "search" | "other";
  name: string;
  run: (round: number) => Promise<Answered>;
  /** What the same costs at the least, by a server that knows nothing. */
  floor?: (round: number, reply: Answered) => Promise<Answered>;
  /** Throws if it is not the answer that was to come. */
  check?: (reply: Answered) => void;
}

/** What changes nothing. `url` is the gateway's, `floor` that of the process it is compared with. */
export async function readingCases(url: string, floor: string, library: Library): Promise<Case[]> {
  const api = `${url}/api/chats`;
  return [
    ...(await listCases(api, floor, library)),
    ...openCases(api, floor, library),
    ...searchCases(api, floor, library),
    await feedCase(api, floor, library),
  ];
}

/** What leaves the store another one. */
export async function writingCases(url: string, library: Library): Promise<Case[]> {
  const api = `${url}/api/chats`;
  return [...editCases(api, library), await importCase(api, library)];
}

const pageSize = 50;

async function listCases(api: string, floor: string, { chats }: Library): Promise<Case[]> {
  const page = (name: string, query: string, count = pageSize): Case => ({
    group: "list",
    name,
    run: () => ask({ url: `${api}?limit=${pageSize}${query}` }),
    floor: () => ask({ url: `${floor}/list?limit=${count}` }),
    check: (reply) => {
      const listed = parsed<ChatListReply>(reply).data.length;
      if (listed !== count) throw new Error(`${name}: ${listed} chats instead of ${count}`);
    },
  });
  return [
    page("the first page of 50", ""),
    page("with a tag that a third has", `&tag=${tags.common}`),
    page("with a tag that every thousandth has", `&tag=${tags.rare}`, Math.ceil(chats / 1000)),
    page("a page half-way down", `&before=${await halfWay(api, chats)}`),
  ];
}

/** The last chat of the page before the one in the middle. */
async function halfWay(api: string, chats: number): Promise<string> {
  let before = "";
  for (let passed = 0; passed < chats / 2; passed += pageSize) {
    const url = `${api}?limit=${pageSize}${before === "" ? "" : `&before=${before}`}`;
    before = parsed<ChatListReply>(await ask({ url })).next_before ?? before;
  }
  return before;
}

function openCases(api: string, floor: string, { chats, messages }: Library): Case[] {
  const dice = diceOf(77);
  const some = Array.from({ length: 1000 }, () => chatIdOf(dice.whole(chats)));
  const one = (round: number) => some[round % some.length] ?? "";
  const opening = (name: string, group: Case["group"], idOf: (round: number) => string): Case => ({
    group,
    name,
    run: (round) => ask({ url: `${api}/${idOf(round)}` }),
    floor: (round) => ask({ url: `${floor}/chat?id=${idOf(round)}` }),
  });
  return [
    opening(`a chat of ${messages} messages, another each time`, "open", one),
    opening(`a chat of ${longChat.messages} messages`, "other", () => chatIdOf(longChat.number)),
  ];
}

const shown = 20;
/** Not one chat must be found. */
const none = -1;

function searchCases(api: string, floor: string, { chats, messages }: Library): Case[] {
  const seldom = Math.ceil(chats / 10);
  const rare = Math.ceil(chats / seldom);
  const many = Math.min(shown, Math.ceil((chats * messages) / 4000));
  const some = Math.min(shown, Math.floor((chats * messages) / 50_000));
  const searching = (name: string, words: string, least: number, more = ""): Case => ({
    group: "search",
    name: `${name}: ${words}`,
    run: () => ask({ url: `${api}?q=${encodeURIComponent(words)}&limit=${shown}${more}` }),
    floor: () => ask({ url: `${floor}/list?limit=${shown}` }),
    check: (reply) => {
      const found = parsed<ChatSearchReply>(reply).data.length;
      if (least === none ? found > 0 : found < least)
        throw new Error(`${words}: found ${found} instead of ${least} chats`);
    },
  });
  return [
    searching("a rare word", planted.rareWord, Math.min(rare, shown)),
    searching("a very common word", "the", many),
    searching("a rare Chinese word", planted.rareChinese, Math.min(rare, shown)),
    searching("a very common Chinese word", "我们", many),
    searching("a common character", "的", many),
    searching("four characters", "我们可以", some),
    searching("the first two letters of many", "in", many),
    searching("six letters of many", wordFamily, many),
    searching("two common words", "memory cache", many),
    searching("three words, one half typed", "search the ind", many),
    searching("two languages", "缓存 cache", some),
    searching("a word that does not occur", "zyzzyvax", none),
    searching("two words, never together", planted.apart.join(" "), none),
    searching("a word of the oldest chats", planted.oldWord, Math.min(shown, chats >> 5)),
    searching("a common word, a rare tag", "the", 1, `&tag=${tags.rare}`),
  ];
}

async function feedCase(api: string, floor: string, { chats }: Library): Promise<Case> {
  const changes = Math.min(1000, chats);
  const { data } = parsed<ChatListReply>(await ask({ url: `${api}?limit=100` }));
  const { stamp } = parsed<{ stamp: number }>(
    await ask({ url: `${api}/${chatIdOf(longChat.number)}` }),
  );
  // The long chat was made last of all, so that nothing has changed since.
  const head = Math.max(stamp, ...data.map((chat) => chat.stamp));
  return {
    group: "other",
    name: `the feed's last ${changes} changes`,
    run: () => catchUp(`${api}/events?after=${head - changes}`, changes),
    floor: (_, { body }) => ask({ url: `${floor}/bytes?size=${body.length}` }),
  };
}

function editCases(api: string, { chats, messages }: Library): Case[] {
  const pinning = (name: string, idOf: (round: number) => string): Case => ({
    group: "other",
    name,
    run: async (round) => {
      const url = `${api}/${idOf(round)}`;
      const { revision, pinned } = parsed<ChatReply>(await ask({ url })).chat;
      const edits = [{ type: "pin_chat", value: !pinned }];
      return ask({ url: `${url}/edits`, json: JSON.stringify({ edits, revision }) });
    },
  });
  return [
    pinning(`an edit of a chat of ${messages} messages`, (round) => chatIdOf(round % chats)),
    pinning(`an edit of one of ${longChat.messages} messages`, () => chatIdOf(longChat.number)),
  ];
}

async function importCase(api: string, { messages }: Library): Promise<Case> {
  const { body } = await ask({ url: `${api}/${chatIdOf(1)}/export?format=json` });
  const json = body.toString();
  return {
    group: "other",
    name: `an import of ${messages} messages, ${(body.length / 1024).toFixed(0)} KiB of JSON`,
    run: () => ask({ url: `${api}/import`, json }),
    floor: async () => {
      const begun = performance.now();
      JSON.parse(json);
      return { ms: performance.now() - begun, body };
    },
  };
}

function parsed<Body>({ body }: Answered): Body {
  return JSON.parse(body.toString()) as Body;
}
