import { blobPath, scopeBlobs, toWellFormed, type BlobStore } from "@deltawire/tasks";
import type { ChatStore, ChatVariable } from "@deltawire/tasks/chats";
import { getBlobHash } from "../calls/long-results.ts";
import type { Variables } from "../variables/variables.ts";

type VariableStorage = Pick<ChatStore, "listVariables" | "addVariable"> & BlobStore;

/** Maximum attempts to find a free name while other writers take names. */
const maxAttempts = 5;

/** The long values of a chat, each stored as a named blob of its owner. `now` returns an ISO 8601 time. */
export function createChatVariables(
  store: VariableStorage,
  chatId: string,
  now: () => string,
  owner = "",
): Variables {
  const blobs = scopeBlobs(store, owner);
  // Saves run one at a time, because a name is only taken once it is stored.
  let lastSave: Promise<unknown> = Promise.resolve();
  const runExclusive = <T>(work: () => Promise<T>): Promise<T> => {
    const done = lastSave.then(work);
    lastSave = done.catch(() => undefined);
    return done;
  };
  return {
    save: (value, { callId, tool, part }) =>
      runExclusive(async () => {
        const source = { call_id: callId, of: toWellFormed(part), tool: toWellFormed(tool) };
        const existing = (await store.listVariables(chatId)).find((variable) =>
          isSameSource(variable, source),
        );
        if (existing !== undefined) return existing.name;
        const hash = await blobs.put(Buffer.from(value, "utf8"), "text/plain; charset=utf-8");
        const newVariable = {
          ...source,
          length: value.length,
          url: blobPath + hash,
          created_at: now(),
        };
        return addWithFreeName(store, chatId, newVariable);
      }),
    list: async () =>
      (await store.listVariables(chatId)).map(({ name, tool, of: part, length }) => ({
        name,
        tool,
        part,
        length,
      })),
    read: async (name) => {
      const variable = (await store.listVariables(chatId)).find((entry) => entry.name === name);
      const blob = variable === undefined ? undefined : await blobs.get(getBlobHash(variable));
      return blob === undefined ? undefined : Buffer.from(blob.bytes).toString("utf8");
    },
  };
}

type VariableSource = Pick<ChatVariable, "call_id" | "of" | "tool">;

function isSameSource(a: VariableSource, b: VariableSource): boolean {
  return a.call_id === b.call_id && a.of === b.of;
}

/** Retries, because another process or answer may take the name between the lookup and the insert. */
async function addWithFreeName(
  store: VariableStorage,
  chatId: string,
  variable: Omit<ChatVariable, "name">,
): Promise<string> {
  for (let attempt = 1; ; attempt += 1) {
    const usedNames = new Set((await store.listVariables(chatId)).map(({ name }) => name));
    const name = findFreeName(variable, usedNames);
    try {
      return (await store.addVariable(chatId, { ...variable, name })).name;
    } catch (error) {
      const names = (await store.listVariables(chatId)).map((entry) => entry.name);
      if (!names.includes(name) || attempt >= maxAttempts) throw error;
    }
  }
}

/** Returns `fetch_page_1` for the result of a tool, `write_file_content_1` for an argument. */
function findFreeName({ tool, of }: VariableSource, usedNames: ReadonlySet<string>): string {
  const label = of === "result" ? tool : `${tool}_${of}`;
  const base = label.replace(/[^A-Za-z0-9_-]+/g, "_").slice(0, 100);
  let number = 1;
  while (usedNames.has(`${base}_${number}`)) number += 1;
  return `${base}_${number}`;
}
