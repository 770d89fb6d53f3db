import OpenAI, { NotFoundError } from "openai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { demoFixture, type DemoFixture } from "./demo-fixture.ts";

let fixture: DemoFixture;

beforeAll(async () => {
  fixture = await demoFixture();
});

afterAll(() => fixture.close());

describe.each(["overChat", "overResponses"] as const)(
  "the openai SDK's stored responses, %s",
  (upstream) => {
    const client = () =>
      new OpenAI({ baseURL: `${fixture[upstream].url}/v1`, apiKey: "local", maxRetries: 0 });

    test("retrieve returns what create has returned, and delete removes it", async () => {
      const openai = client();
      const { _request_id: _, ...created } = await openai.responses.create({
        model: "clean",
        input: "Good morning",
      });
      const include = ["reasoning.encrypted_content" as const];
      const { _request_id: __, ...stored } = await openai.responses.retrieve(created.id, {
        include,
      });
      expect(stored).toEqual(created);
      await openai.responses.delete(created.id);
      await expect(openai.responses.retrieve(created.id)).rejects.toThrow(NotFoundError);
    });

    test("a streamed response is continued, and its input items are listed", async () => {
      const openai = client();
      const stream = openai.responses.stream({ model: "clean", input: "Good morning" });
      const first = await stream.finalResponse();
      const second = await openai.responses.create({
        model: "clean",
        input: "Good evening",
        previous_response_id: first.id,
      });
      expect(second.previous_response_id).toBe(first.id);
      expect(second.output_text).toContain("> Good evening");
      const texts: unknown[] = [];
      const list = openai.responses.inputItems.list(second.id, { order: "asc", limit: 1 });
      for await (const item of list)
        if (item.type === "message")
          texts.push(item.content[0] && "text" in item.content[0] && item.content[0].text);
      expect(texts).toEqual(["Good morning", first.output_text, "Good evening"]);
    });

    test("a response in the background is polled, and streamed again from any number", async () => {
      const openai = client();
      const stream = await openai.responses.create({
        model: "clean",
        input: "Good morning",
        background: true,
        stream: true,
      });
      const events: unknown[] = [];
      let id = "";
      for await (const event of stream) {
        events.push(event);
        if (event.type === "response.created") id = event.response.id;
      }
      const response = await openai.responses.retrieve(id);
      expect(response).toMatchObject({ status: "completed", background: true });
      expect(response.output_text).toContain("> Good morning");
      const replayed: unknown[] = [];
      const options = { stream: true, starting_after: 4 } as const;
      for await (const event of await openai.responses.retrieve(id, options)) replayed.push(event);
      expect(replayed).toEqual(events.slice(5));
      const resumed = openai.responses.stream({ response_id: id, starting_after: 4 });
      expect((await resumed.finalResponse()).output_text).toBe(response.output_text);
    });

    test("a response in the background is canceled", async () => {
      const openai = client();
      const { id } = await openai.responses.create({
        model: "clean",
        input: "long markdown 50",
        background: true,
      });
      expect((await openai.responses.cancel(id)).status).toBe("cancelled");
      expect((await openai.responses.retrieve(id)).status).toBe("cancelled");
    });

    test("a conversation is continued, and its items are read and deleted", async () => {
      const openai = client();
      const { id } = await openai.conversations.create({
        metadata: { topic: "greetings" },
        items: [{ type: "message", role: "user", content: "My name is Ada" }],
      });
      const response = await openai.responses.create({
        model: "clean",
        input: "Good morning",
        conversation: id,
      });
      expect(response.conversation).toEqual({ id });
      const items = [];
      const list = openai.conversations.items.list(id, { order: "asc", limit: 2 });
      for await (const item of list) items.push(item);
      expect(items.map(({ type }) => type)).toEqual(["message", "message", "reasoning", "message"]);
      const itemId = items[0]?.id ?? "";
      const path = { conversation_id: id };
      expect(await openai.conversations.items.retrieve(itemId, path)).toMatchObject({
        content: [{ type: "input_text", text: "My name is Ada" }],
      });
      await openai.conversations.items.delete(itemId, path);
      await openai.conversations.update(id, { metadata: { topic: "other" } });
      expect((await openai.conversations.retrieve(id)).metadata).toEqual({ topic: "other" });
      expect((await openai.conversations.delete(id)).deleted).toBe(true);
    });

    test("a conversation is compacted, and continued with the result", async () => {
      const openai = client();
      const input = "My name is Ada";
      const compacted = await openai.responses.compact({ model: "clean", input });
      expect(compacted.object).toBe("response.compaction");
      expect(compacted.output.at(-1)?.type).toBe("compaction");
      const response = await openai.responses.create({
        model: "clean",
        input: [
          ...(compacted.output as OpenAI.Responses.ResponseInputItem[]),
          { role: "user", content: "Good morning" },
        ],
      });
      expect(response.output_text).toContain("> Good morning");
      const count = await openai.responses.inputTokens.count({ model: "clean", input });
      expect(count.input_tokens).toBeGreaterThan(0);
    });

    test("context_management compacts a long conversation, which goes on from the summary", async () => {
      const openai = client();
      const long = `My name is Ada. ${"The weather was fine. ".repeat(400)}`;
      const first = await openai.responses.create({ model: "clean", input: long });
      const second = await openai.responses.create({
        model: "clean",
        input: "Good evening",
        previous_response_id: first.id,
        context_management: [{ type: "compaction", compact_threshold: 1000 }],
      });
      expect(second.output[0]?.type).toBe("compaction");
      expect(second.output_text).toContain("> Good evening");
      const third = await openai.responses.create({
        model: "clean",
        input: "Good night",
        previous_response_id: second.id,
        context_management: [{ type: "compaction", compact_threshold: 1000 }],
      });
      expect(third.output.map(({ type }) => type)).not.toContain("compaction");
      expect(third.usage?.input_tokens).toBeLessThan(first.usage?.input_tokens ?? 0);
    });

    test("a file is uploaded, used in a request, read and deleted", async () => {
      const openai = client();
      const upload = new File(["My shoe size is 4711."], "size.txt", { type: "text/plain" });
      const file = await openai.files.create({ file: upload, purpose: "user_data" });
      const response = await openai.responses.create({
        model: "clean",
        input: [{ role: "user", content: [{ type: "input_file", file_id: file.id }] }],
      });
      expect(response.output_text).toContain("My shoe size is 4711.");
      expect(await (await openai.files.content(file.id)).text()).toBe("My shoe size is 4711.");
      const ids: string[] = [];
      for await (const { id } of openai.files.list()) ids.push(id);
      expect(ids).toContain(file.id);
      expect((await openai.files.delete(file.id)).deleted).toBe(true);
    });
  },
);
