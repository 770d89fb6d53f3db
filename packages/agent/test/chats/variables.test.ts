import { setImmediate } from "node:timers/promises";
import { MemoryBlobs } from "@deltawire/agent";
import fc from "fast-check";
import { blobPath } from "@deltawire/tasks";
import type { ChatVariable } from "@deltawire/tasks/chats";
import { describe, expect, test } from "vitest";
import { createChatVariables } from "../../src/chats/chat-variables.ts";
import { buildVariablesGroup } from "../../src/chats/variables-group.ts";
import { runTool, getTool } from "../tool-context.ts";

/** Like a store, rejects a name that the chat already has, and stores each part of a call only once. */
class MemoryVariables extends MemoryBlobs {
  isFull = false;
  readonly #chats = new Map<string, ChatVariable[]>();

  async listVariables(chatId: string): Promise<ChatVariable[]> {
    await setImmediate();
    return [...(this.#chats.get(chatId) ?? [])];
  }

  async addVariable(chatId: string, variable: ChatVariable): Promise<ChatVariable> {
    await setImmediate();
    if (this.isFull) throw new Error("disk full");
    const all = this.#chats.get(chatId) ?? [];
    this.#chats.set(chatId, all);
    const { call_id, of, name } = variable;
    const known = all.find((one) => one.call_id === call_id && one.of === of);
    if (known !== undefined) return known;
    if (all.some((one) => one.name === name)) throw new Error(`the name ${name} is taken`);
    all.push(variable);
    return variable;
  }
}

const now = (): string => "2026-11-15T10:00:00.000Z";
const createOrigin = (callId: string, tool = "fetch_page", part = "result") => ({
  callId,
  tool,
  part,
});

describe("the variables of a chat", () => {
  test("are named after their tool and numbered; the names of arguments also contain the property", async () => {
    const variables = createChatVariables(new MemoryVariables(), "chat_1", now);
    expect(await variables.save("one", createOrigin("call_1"))).toBe("fetch_page_1");
    expect(await variables.save("two", createOrigin("call_2"))).toBe("fetch_page_2");
    expect(await variables.save("three", createOrigin("call_3", "write_file", "content"))).toBe(
      "write_file_content_1",
    );
    expect(await variables.save("four", createOrigin("call_4", "mcp-tool", "a b{}.c"))).toBe(
      "mcp-tool_a_b_c_1",
    );
    expect(await variables.read("fetch_page_2")).toBe("two");
    expect(await variables.read("fetch_page_3")).toBeUndefined();
    expect(await variables.list()).toContainEqual({
      name: "write_file_content_1",
      tool: "write_file",
      part: "content",
      length: 5,
    });
  });

  test("are blobs in the store, with their length and time", async () => {
    const store = new MemoryVariables();
    await createChatVariables(store, "chat_1", now).save("grün", createOrigin("call_1"));
    const [variable] = await store.listVariables("chat_1");
    expect(variable).toMatchObject({
      length: 4,
      created_at: now(),
      call_id: "call_1",
      of: "result",
    });
    const blob = await store.get(variable?.url.slice(blobPath.length) ?? "");
    expect(Buffer.from(blob?.bytes ?? []).toString("utf8")).toBe("grün");
  });

  test("are stored once for each part of a call, even by a later process", async () => {
    const store = new MemoryVariables();
    const name = await createChatVariables(store, "chat_1", now).save(
      "one",
      createOrigin("call_1"),
    );
    const later = createChatVariables(store, "chat_1", now);
    expect(await later.save("another", createOrigin("call_1"))).toBe(name);
    expect(await later.read(name)).toBe("one");
    expect(await later.list()).toHaveLength(1);
  });

  test("belong to one chat", async () => {
    const store = new MemoryVariables();
    const name = await createChatVariables(store, "chat_1", now).save(
      "one",
      createOrigin("call_1"),
    );
    expect(await createChatVariables(store, "chat_2", now).read(name)).toBeUndefined();
  });

  test("never share a name, even if several processes store them concurrently", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.record({ call: fc.nat(5), tool: fc.constantFrom("a", "a_1"), process: fc.nat(1) }),
          { maxLength: 8 },
        ),
        async (values) => {
          const store = new MemoryVariables();
          const processes = [0, 1].map(() => createChatVariables(store, "chat_1", now));
          const names = await Promise.all(
            values.map(async ({ call, tool, process }) =>
              processes[process]?.save(
                `${tool} ${call}`,
                createOrigin(`${tool} call_${call}`, tool),
              ),
            ),
          );
          for (const [at, { call, tool }] of values.entries())
            expect(await processes[0]?.read(names[at] ?? "")).toBe(`${tool} ${call}`);
        },
      ),
      { numRuns: 50 },
    );
  });

  test("are not stored if the store fails, but can be stored later", async () => {
    const store = new MemoryVariables();
    const variables = createChatVariables(store, "chat_1", now);
    store.isFull = true;
    await expect(variables.save("one", createOrigin("call_1"))).rejects.toThrow("disk full");
    store.isFull = false;
    expect(await variables.save("one", createOrigin("call_1"))).toBe("fetch_page_1");
  });
});

describe("the tool group for variables", () => {
  test("lists variables with their length and origin", async () => {
    const variables = createChatVariables(new MemoryVariables(), "chat_1", now);
    const group = buildVariablesGroup(variables);
    expect(await runTool(group, "list_variables", {})).toBe("There are no variables yet.");
    await variables.save("x".repeat(5000), createOrigin("call_1"));
    expect(await runTool(group, "list_variables", {})).toBe(
      "The variables are:\n- fetch_page_1: 5000 characters, result of fetch_page",
    );
  });

  test("reads a long variable page by page to its end, as the truncation notes say", async () => {
    const variables = createChatVariables(new MemoryVariables(), "chat_1", now);
    const group = buildVariablesGroup(variables);
    const longText = "a😀".repeat(30_000);
    await variables.save(longText, createOrigin("call_1"));
    let input: unknown = { name: "fetch_page_1" };
    let read = "";
    for (let pages = 0; input !== undefined && pages < 10; pages += 1) {
      const page = String(await runTool(group, "read_variable", input));
      const [note = "", next] = /\n\[truncated: .*read_variable (\{.*\})\]$/.exec(page) ?? [];
      read += page.slice(0, page.length - note.length);
      input = next === undefined ? undefined : JSON.parse(next);
    }
    expect(read).toBe(longText);
  });

  test("lists the variables in the error for an unknown name", async () => {
    const variables = createChatVariables(new MemoryVariables(), "chat_1", now);
    await variables.save("x", createOrigin("call_1"));
    await expect(
      runTool(buildVariablesGroup(variables), "read_variable", { name: "y" }),
    ).rejects.toThrow(/no variable "y".*\n- fetch_page_1/);
  });

  test("explains in two lines how to pass a variable on, and needs no approval", () => {
    const group = buildVariablesGroup(createChatVariables(new MemoryVariables(), "chat_1", now));
    expect(group.rules).toContain("{{var:NAME}}");
    expect(group.rules.split("\n")).toHaveLength(2);
    for (const name of ["list_variables", "read_variable"])
      expect(getTool(group, name)).toMatchObject({
        effect: "pure",
        approval: { call: "auto", result: "never" },
      });
  });
});
