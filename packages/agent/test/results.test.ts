import { MemoryBlobs, defineTool, type ToolContext } from "@deltawire/agent";
import { blobPath } from "@deltawire/tasks";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { longestForModel } from "../src/calls/long-results.ts";
import {
  ended,
  resultsIn,
  scriptedAgent,
  start,
  textOf,
  textOfLog,
  toldItems,
  toldResults,
} from "./run-kit.ts";

const once = [[{ call: "get", args: {} }], [{ text: "Done." }]];

/** One call of a tool that does this. */
async function got(
  run: (input: unknown, context: ToolContext) => unknown,
  more: object = {},
  options: object = {},
) {
  const tool = defineTool({ name: "get", description: "Gets.", run, ...more });
  const { agent, model } = scriptedAgent(once, { tools: [tool] });
  const started = await start(agent, {}, options);
  const { view, events } = await ended(started);
  const [result] = resultsIn(view.output);
  return { started, view, events, result, told: toldResults(model, 1)[0], model };
}

describe("a tool that returns", () => {
  test("a text gives it to people and to the model", async () => {
    const { result, told } = await got(() => "fine");
    expect(result?.block_list).toEqual([{ type: "text", text: "fine" }]);
    expect(told).toBe("fine");
  });

  test("an object gives data to people and JSON to the model", async () => {
    const { result, told } = await got(() => ({ a: [1, null] }));
    expect(result?.block_list).toEqual([{ type: "data", data: { a: [1, null] } }]);
    expect(told).toBe('{"a":[1,null]}');
  });

  test.each([
    ["undefined", undefined, "(no output)"],
    ["null", null, "(no output)"],
    ["false", false, "false"],
    ["0", 0, "0"],
    ["a date", new Date(0), '"1970-01-01T00:00:00.000Z"'],
    ["a list", [1, "b"], '[1,"b"]'],
    ["half a character", "a\uD800b", "a\uFFFDb"],
  ])("%s says that", async (_name, value, text) => {
    const { result, told } = await got(() => value);
    expect(result?.status).toBe("completed");
    expect(told).toBe(text);
  });

  const circle: Record<string, unknown> = {};
  circle["self"] = circle;
  test.each([
    ["a circle", circle],
    ["a bigint", 10n],
    ["a bigint inside", { n: 10n }],
    ["a function", () => 1],
    ["a symbol", Symbol("s")],
    ["blocks that are none", { block_list: [7] }],
    ["a list that is none", { message_content: 7 }],
    ["an unknown kind of block", { block_list: [{ type: "video" }] }],
    [
      "what throws when it is read",
      {
        toJSON: () => {
          throw new Error("no");
        },
      },
    ],
  ])("%s gets a failed result, which says so, and the agent goes on", async (_name, value) => {
    const { view, result, told } = await got(() => value);
    expect(result).toMatchObject({ status: "failed", outcome: "failed" });
    expect(told).toContain("cannot be read");
    expect(view.status).toBe("completed");
  });

  test("anything whatever leaves a legal log and one result", async () => {
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
        const { view } = await got(() => returned);
        expect(view.status).toBe("completed");
        expect(resultsIn(view.output)).toHaveLength(1);
      }),
      { numRuns: 100 },
    );
  });
});

describe("a tool that throws", () => {
  test.each([
    ["an error", new Error("broken"), "The tool failed: broken"],
    ["a text", "broken", "The tool failed: broken"],
    ["nothing", undefined, "The tool failed: undefined"],
    ["what has no text", Object.create(null), "The tool failed: something that has no text"],
  ])("%s tells the model", async (_name, thrown, text) => {
    const { result, told, events } = await got(() => {
      throw thrown;
    });
    expect(result?.outcome).toBe("failed");
    expect(told).toBe(text);
    expect(events.find(({ type }) => type === "task.tool_execution.done")).toMatchObject({
      outcome: "failed",
    });
  });

  test("a whole listing does not have it all in the record of its run", async () => {
    const { events, told } = await got(() => {
      throw new Error("x".repeat(20_000));
    });
    const done = events.find((event) => event.type === "task.tool_execution.done");
    expect(JSON.stringify(done).length).toBeLessThan(3000);
    expect(told?.length).toBeGreaterThan(20_000);
  });
});

test("a schema that throws makes a failed call", async () => {
  const broken = {
    "~standard": {
      version: 1,
      vendor: "x",
      validate: () => {
        throw new Error("broken schema");
      },
    },
  } as const;
  const { result, told } = await got(() => "x", { input: broken, parameters: { type: "object" } });
  expect(result?.status).toBe("failed");
  expect(told).toContain("broken schema");
});

describe("pictures and files", () => {
  const bytes = new Uint8Array([137, 80, 78, 71, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  const base64 = Buffer.from(bytes).toString("base64");
  const url = `data:image/png;base64,${base64}`;
  const image = { type: "image", bytes, media_type: "image/png" };

  test.each([
    ["bytes in blocks", { block_list: [image] }],
    ["bytes in both", { message_content: [{ ...image, type: "image_url" }], block_list: [image] }],
    ["a picture alone", image],
    ["a data url in a block", { block_list: [{ type: "image", image_url: { url } }] }],
    ["a picture alone, by its data url", { type: "image", image_url: { url } }],
    ["a data url alone", url],
  ])(
    "as %s go into the store, and the model gets them back as a data url",
    async (_name, value) => {
      const { started, result, model } = await got(() => value);
      expect(await textOfLog(started)).not.toContain(base64);
      const [block] = result?.block_list ?? [];
      expect(block).toMatchObject({
        type: "image",
        image_url: { url: expect.stringContaining(blobPath) as string },
      });
      expect(JSON.stringify(model.asked[1]?.input)).toContain(url);
    },
  );

  test("of any kind, alone or deep within a value, are never in the log", async () => {
    for (const value of [
      bytes,
      { shot: { png: url } },
      { raw: bytes },
      { type: "file", bytes, filename: "a.bin" },
    ]) {
      const { started, result } = await got(() => value);
      expect(await textOfLog(started)).not.toContain(base64);
      expect(JSON.stringify(result)).toContain(blobPath);
    }
  });

  test("that a user sends are kept once, also those in the history", async () => {
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
    await ended(started);
    expect(await textOfLog(started)).not.toContain(base64);
    expect(JSON.stringify(model.asked[0]?.input).split(url)).toHaveLength(3);
  });

  test("that the store does not take make a failed result, and the agent goes on", async () => {
    class FullBlobs extends MemoryBlobs {
      override put(): Promise<string> {
        return Promise.reject(new Error("no space left"));
      }
    }
    const picture = await got(() => image, {}, { blobs: new FullBlobs() });
    expect(picture.told).toContain("no space left");
    const long = await got(() => "x".repeat(100_000), {}, { blobs: new FullBlobs() });
    expect(long.told).toContain("could not be kept: no space left");
    expect(long.view.status).toBe("completed");
  });

  test("for the model: a file goes with the request in its own field, a sound with its format", async () => {
    const value = {
      block_list: [
        { type: "file", bytes, media_type: "application/pdf", filename: "a.pdf" },
        { type: "audio", bytes: new Uint8Array([1, 2, 3]), media_type: "audio/wav" },
      ],
    };
    const { model } = await got(() => value);
    const output = toldItems(model, 1).at(-1)?.output;
    expect(output).toEqual([
      { type: "input_file", filename: "a.pdf", file_data: `data:application/pdf;base64,${base64}` },
      { type: "input_audio", input_audio: { data: "AQID", format: "wav" } },
    ]);
  });
});

test("people see long texts whole up to a measure, and as a file beyond it", async () => {
  const short = await got(() => "y".repeat(100_000));
  expect(textOf(short.result)).toHaveLength(100_000);
  const huge = await got(() => "y".repeat(3_000_000));
  expect(huge.result?.block_list).toMatchObject([{ type: "file", media_type: "text/plain" }]);
  const data = await got(() => ({ list: Array.from({ length: 100_000 }, (_, at) => at) }));
  expect(data.result?.block_list).toMatchObject([{ type: "file", media_type: "application/json" }]);
  expect((await textOfLog(data.started)).length).toBeLessThan(4 * longestForModel);
});
