import { describe, expect, test } from "vitest";
import type { FoundChat } from "@deltawire/tasks/chats";
import { createSearch } from "../../src/list/search.ts";
import { summary } from "./summary.ts";

describe("searching while somebody types", () => {
  test("is asked once, for the words at the pause", async () => {
    const { search, asked, pause, answer } = world();
    search.look("s", undefined);
    search.look("su", undefined);
    search.look("sun ", undefined);
    expect(search.state.get()).toEqual({ is: "searching", query: "sun", found: [] });
    pause();
    expect(asked.map(({ query }) => query)).toEqual(["sun"]);
    await answer(0, [hit("a")]);
    expect(search.state.get()).toEqual({ is: "found", query: "sun", found: [hit("a")] });
  });

  test("drops an answer to older words that comes late", async () => {
    const { search, pause, answer } = world();
    search.look("sun", undefined);
    pause();
    search.look("rain", undefined);
    pause();
    await answer(1, [hit("rain")]);
    await answer(0, [hit("sun")]);
    expect(search.state.get()).toEqual({ is: "found", query: "rain", found: [hit("rain")] });
  });

  test("drops an answer while the next words wait for their pause", async () => {
    const { search, pause, answer } = world();
    search.look("sun", undefined);
    pause();
    search.look("sunn", undefined);
    await answer(0, [hit("sun")]);
    expect(search.state.get()).toEqual({ is: "searching", query: "sunn", found: [] });
  });

  test("shows what there was until there is more, and nothing once the box is empty", async () => {
    const { search, pause, answer } = world();
    search.look("sun", undefined);
    pause();
    await answer(0, [hit("a")]);
    search.look("sunny", undefined);
    expect(search.state.get()).toEqual({ is: "searching", query: "sunny", found: [hit("a")] });
    search.look("  ", undefined);
    expect(search.state.get()).toEqual({ is: "idle" });
    pause();
    expect(search.state.get()).toEqual({ is: "idle" });
  });

  test("the same words in another tag are asked for anew", () => {
    const { search, asked, pause } = world();
    search.look("sun", undefined);
    pause();
    search.look("sun", "travel");
    pause();
    expect(asked.map(({ query, tag }) => [query, tag])).toEqual([
      ["sun", undefined],
      ["sun", "travel"],
    ]);
  });

  test("what failed is told, and can be asked again", async () => {
    const { search, asked, pause, fail } = world();
    search.look("sun", undefined);
    pause();
    await fail(0, "the gateway cannot be reached");
    expect(search.state.get()).toEqual({
      is: "failed",
      query: "sun",
      message: "the gateway cannot be reached",
    });
    search.again();
    pause();
    expect(asked).toHaveLength(2);
  });
});

function hit(chat_id: string): FoundChat {
  return { chat: summary({ chat_id }), title_marks: [], hits: [] };
}

function world() {
  const asked: {
    query: string;
    tag: string | undefined;
    resolve: (found: readonly FoundChat[]) => void;
    reject: (error: Error) => void;
  }[] = [];
  let waiting: (() => void) | undefined;
  const search = createSearch({
    ask: (query, tag) =>
      new Promise((resolve, reject) => {
        asked.push({ query, tag, resolve, reject });
      }),
    later: (run) => {
      waiting = run;
      return () => {
        waiting = undefined;
      };
    },
  });
  const settled = () => new Promise((resolve) => setTimeout(resolve));
  return {
    search,
    asked,
    pause: () => {
      const run = waiting;
      waiting = undefined;
      run?.();
    },
    answer: async (index: number, found: FoundChat[]) => {
      asked[index]?.resolve(found);
      await settled();
    },
    fail: async (index: number, message: string) => {
      asked[index]?.reject(new Error(message));
      await settled();
    },
  };
}
