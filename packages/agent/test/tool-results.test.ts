import { MemoryBlobs, defineTool, type ToolContext } from "@deltawire/agent";
import { blobPath } from "@deltawire/tasks";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { maxModelCharacters } from "../src/calls/long-results.ts";
import {
  waitForEnd,
  filterResults,
  scriptedAgent,
  start,
  getItemText,
  readLogText,
  getSentItems,
  getSentResults,
} from "./runtime-fixture.ts";

const once = [[{ call: "get", args: {} }], [{ text: "Done." }]];

/** Runs a task with one call of a tool with this run function. */
async function runOnce(
  run: (input: unknown, context: ToolContext) => unknown,
  overrides: object = {},
  options: object = {},
) {
  const tool = defineTool({ name: "get", description: "Gets.", run, ...overrides });
  const { agent, model } = scriptedAgent(once, { tools: [tool] });
  const started = await start(agent, {}, options);
  const { view, events } = await waitForEnd(started);
  const [result] = filterResults(view.output);
  return { started, view, events, result, sent: getSentResults(model, 1)[0], model };
}

describe("a tool that returns", () => {
  test("a string shows it to users and sends it to the model", async () => {
    const { result, sent } = await runOnce(() => "fine");
    expect(result?.block_list).toEqual([{ type: "text", text: "fine" }]);
    expect(sent).toBe("fine");
  });

  test("an object shows data to users and sends JSON to the model", async () => {
    const { result, sent } = await runOnce(() => ({ a: [1, null] }));
    expect(result?.block_list).toEqual([{ type: "data", data: { a: [1, null] } }]);
    expect(sent).toBe('{"a":[1,null]}');
  });

  test.each([
    ["undefined", undefined, "(no output)"],
    ["null", null, "(no output)"],
    ["false", false, "false"],
    ["0", 0, "0"],
    ["a date", new Date(0), '"1970-01-01T00:00:00.000Z"'],
    ["a list", [1, "b"], '[1,"b"]'],
    ["a lone surrogate", "a\uD800b", "a\uFFFDb"],
  ])("%s sends it to the model as text", async (_name, value, text) => {
    const { result, sent } = await runOnce(() => value);
    expect(result?.status).toBe("completed");
    expect(sent).toBe(text);
  });

  const circularObject: Record<string, unknown> = {};
  circularObject["self"] = circularObject;
  test.each([
    ["a circular object", circularObject],
    ["a bigint", 10n],
    ["an object with a bigint", { n: 10n }],
    ["a function", () => 1],
    ["a symbol", Symbol("s")],
    ["invalid blocks", { block_list: [7] }],
    ["an invalid content list", { message_content: 7 }],
    ["an unknown block type", { block_list: [{ type: "video" }] }],
    [
      "an object whose getter throws",
      {
        toJSON: () => {
          throw new Error("no");
        },
      },
    ],
  ])("%s has a failed result, and the agent continues", async (_name, value) => {
    const { view, result, sent } = await runOnce(() => value);
    expect(result).toMatchObject({ status: "failed", outcome: "failed" });
    expect(sent).toContain("The tool returned an invalid result: tool output: ");
    expect(view.status).toBe("completed");
  });

  test("any other value has exactly one result, and the agent continues", async () => {
    const value = fc.anything({
      withBigInt: true,
      withDate: true,
      withTypedArray: true,
      withNullPrototype: true,
      withMap: true,
    });
    const output = fc.oneof(
      value,
      fc.record({ message_content: value, block_list: value }),
      fc.record({ type: fc.constantFrom("image", "file", "text"), bytes: value }),
    );
    await fc.assert(
      fc.asyncProperty(output, async (returned) => {
        const { view } = await runOnce(() => returned);
        expect(view.status).toBe("completed");
        expect(filterResults(view.output)).toHaveLength(1);
      }),
      { numRuns: 100 },
    );
  });
});

describe("a tool that throws", () => {
  test.each([
    ["an error", new Error("broken"), "The tool failed: broken"],
    ["a string", "broken", "The tool failed: broken"],
    ["undefined", undefined, "The tool failed: undefined"],
    [
      "an object without a string form",
      Object.create(null),
      "The tool failed: (value that cannot be converted to a string)",
    ],
  ])("%s has the error sent to the model", async (_name, thrown, text) => {
    const { result, sent, events } = await runOnce(() => {
      throw thrown;
    });
    expect(result?.outcome).toBe("failed");
    expect(sent).toBe(text);
    expect(events.find(({ type }) => type === "task.tool_execution.done")).toMatchObject({
      outcome: "failed",
    });
  });

  test("an error with a long message has the message truncated in the execution record", async () => {
    const { events, sent } = await runOnce(() => {
      throw new Error("x".repeat(20_000));
    });
    const done = events.find((event) => event.type === "task.tool_execution.done");
    expect(JSON.stringify(done).length).toBeLessThan(3000);
    expect(sent?.length).toBeGreaterThan(20_000);
  });
});

test("a call fails if the validation of its input throws", async () => {
  const broken = {
    "~standard": {
      version: 1,
      vendor: "x",
      validate: () => {
        throw new Error("broken schema");
      },
    },
  } as const;
  const { result, sent } = await runOnce(() => "x", {
    input: broken,
    parameters: { type: "object" },
  });
  expect(result?.status).toBe("failed");
  expect(sent).toContain("broken schema");
});

describe("images and files", () => {
  const bytes = new Uint8Array([137, 80, 78, 71, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  const base64 = Buffer.from(bytes).toString("base64");
  const url = `data:image/png;base64,${base64}`;
  const image = { type: "image", bytes, media_type: "image/png" };

  test.each([
    ["bytes in blocks", { block_list: [image] }],
    ["bytes in both", { message_content: [{ ...image, type: "image_url" }], block_list: [image] }],
    ["a bare image", image],
    ["a data URL in a block", { block_list: [{ type: "image", image_url: { url } }] }],
    ["a bare image with a data URL", { type: "image", image_url: { url } }],
    ["a bare data URL", url],
  ])(
    "returned as %s are stored as blobs, and the model receives them as a data URL",
    async (_name, value) => {
      const { started, result, model } = await runOnce(() => value);
      expect(await readLogText(started)).not.toContain(base64);
      const [block] = result?.block_list ?? [];
      expect(block).toMatchObject({
        type: "image",
        image_url: { url: expect.stringContaining(blobPath) as string },
      });
      expect(JSON.stringify(model.requests[1]?.input)).toContain(url);
    },
  );

  test("of any kind, at any depth of a result, are not in the log", async () => {
    for (const value of [
      bytes,
      { shot: { png: url } },
      { raw: bytes },
      { type: "file", bytes, filename: "a.bin" },
    ]) {
      const { started, result } = await runOnce(() => value);
      expect(await readLogText(started)).not.toContain(base64);
      expect(JSON.stringify(result)).toContain(blobPath);
    }
  });

  test("that a user sends are stored once, including those in the history", async () => {
    const { agent, model } = scriptedAgent([[{ text: "A cat." }]]);
    const blobs = new MemoryBlobs();
    const started = await start(
      agent,
      {
        input: [
          { type: "text", text: "What is it?" },
          { type: "image_url", image_url: { url } },
        ],
        history: [
          { type: "message", role: "user", content: [{ type: "input_image", image_url: url }] },
        ],
      },
      { blobs },
    );
    await waitForEnd(started);
    expect(await readLogText(started)).not.toContain(base64);
    expect(JSON.stringify(model.requests[0]?.input).split(url)).toHaveLength(3);
  });

  test("that the store rejects result in a failed call, and the agent continues", async () => {
    class FullBlobs extends MemoryBlobs {
      override put(): Promise<string> {
        return Promise.reject(new Error("no space left"));
      }
    }
    const imageRun = await runOnce(() => image, {}, { blobs: new FullBlobs() });
    expect(imageRun.sent).toContain("no space left");
    const long = await runOnce(() => "x".repeat(100_000), {}, { blobs: new FullBlobs() });
    expect(long.sent).toContain("could not be stored: no space left");
    expect(long.view.status).toBe("completed");
  });

  test("are sent to the model: a file as file data, and audio with its format", async () => {
    const value = {
      block_list: [
        { type: "file", bytes, media_type: "application/pdf", filename: "a.pdf" },
        { type: "audio", bytes: new Uint8Array([1, 2, 3]), media_type: "audio/wav" },
      ],
    };
    const { model } = await runOnce(() => value);
    const output = getSentItems(model, 1).at(-1)?.output;
    expect(output).toEqual([
      { type: "input_file", filename: "a.pdf", file_data: `data:application/pdf;base64,${base64}` },
      { type: "input_audio", input_audio: { data: "AQID", format: "wav" } },
    ]);
  });
});

test("a long text is shown completely up to a limit, and as a file above it", async () => {
  const short = await runOnce(() => "y".repeat(100_000));
  expect(getItemText(short.result)).toHaveLength(100_000);
  const huge = await runOnce(() => "y".repeat(3_000_000));
  expect(huge.result?.block_list).toMatchObject([{ type: "file", media_type: "text/plain" }]);
  const data = await runOnce(() => ({
    list: Array.from({ length: 100_000 }, (_, index) => index),
  }));
  expect(data.result?.block_list).toMatchObject([{ type: "file", media_type: "application/json" }]);
  expect((await readLogText(data.started)).length).toBeLessThan(4 * maxModelCharacters);
});
