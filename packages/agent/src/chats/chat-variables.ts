import { blobPath, toWellFormed, type BlobStore } from "@deltawire/tasks";
import type { ChatStore, ChatVariable } from "@deltawire/tasks/chats";
import { hashOf } from "../calls/long-results.ts";
import type { Variables } from "../variables/variables.ts";

type VariableStore = Pick<ChatStore, "variables" | "addVariable"> & BlobStore;

/** How often a name is chosen anew that somebody else has taken meanwhile. */
const mostTries = 5;

/** The long values of a chat, each a blob with a name. `now` is told in ISO 8601. */
export function chatVariables(store: VariableStore, chatId: string, now: () => string): Variables {
  // One after the other: a name is free until it is kept.
  let last: Promise<unknown> = Promise.resolve();
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const done = last.then(work);
    last = done.catch(() => undefined);
    return done;
  };
  return {
    keep: (value, { callId, tool, part }) =>
      inTurn(async () => {
        const of = { call_id: callId, of: toWellFormed(part), tool: toWellFormed(tool) };
        const known = (await store.variables(chatId)).find((one) => isSame(one, of));
        if (known !== undefined) return known.name;
        const hash = await store.put(Buffer.from(value, "utf8"), "text/plain; charset=utf-8");
        const kept = { ...of, length: value.length, url: blobPath + hash, created_at: now() };
        return addNamed(store, chatId, kept);
      }),
    list: async () =>
      (await store.variables(chatId)).map(({ name, tool, of: part, length }) => ({
        name,
        tool,
        part,
        length,
      })),
    read: async (name) => {
      const variable = (await store.variables(chatId)).find((one) => one.name === name);
      const blob = variable === undefined ? undefined : await store.get(hashOf(variable));
      return blob === undefined ? undefined : Buffer.from(blob.bytes).toString("utf8");
    },
  };
}

type From = Pick<ChatVariable, "call_id" | "of" | "tool">;

function isSame(one: From, other: From): boolean {
  return one.call_id === other.call_id && one.of === other.of;
}

/** Another process, or another answer in the same chat, may take a name between the look and the save. */
async function addNamed(
  store: VariableStore,
  chatId: string,
  variable: Omit<ChatVariable, "name">,
): Promise<string> {
  for (let tries = 1; ; tries += 1) {
    const taken = new Set((await store.variables(chatId)).map(({ name }) => name));
    const name = freeName(variable, taken);
    try {
      return (await store.addVariable(chatId, { ...variable, name })).name;
    } catch (error) {
      const names = (await store.variables(chatId)).map((one) => one.name);
      if (!names.includes(name) || tries >= mostTries) throw error;
    }
  }
}

/** `fetch_page_1` for what a tool returned, `write_file_content_1` for what it was given. */
function freeName({ tool, of }: From, taken: ReadonlySet<string>): string {
  const words = of === "result" ? tool : `${tool}_${of}`;
  const base = words.replace(/[^A-Za-z0-9_-]+/g, "_").slice(0, 100);
  let number = 1;
  while (taken.has(`${base}_${number}`)) number += 1;
  return `${base}_${number}`;
}
