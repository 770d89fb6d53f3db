import { describe, expect, test } from "vitest";
import type { ChatSearchResult } from "@deltawire/tasks/chats";
import { createChatSearch } from "../../src/list/chat-search.ts";
import { createChatSummary } from "./chat-summary-fixture.ts";

describe("a search while typing", () => {
  test("sends one request when typing pauses", async () => {
    const { search, requests, pause, answer } = createSearchEnvironment();
    search.setQuery("s", undefined);
    search.setQuery("su", undefined);
    search.setQuery("sun ", undefined);
    expect(search.state.get()).toEqual({ status: "searching", query: "sun", results: [] });
    pause();
    expect(requests.map(({ query }) => query)).toEqual(["sun"]);
    await answer(0, [createResult("a")]);
    expect(search.state.get()).toEqual({
      status: "ready",
      query: "sun",
      results: [createResult("a")],
    });
  });

  test("ignores late results of an earlier query", async () => {
    const { search, pause, answer } = createSearchEnvironment();
    search.setQuery("sun", undefined);
    pause();
    search.setQuery("rain", undefined);
    pause();
    await answer(1, [createResult("rain")]);
    await answer(0, [createResult("sun")]);
    expect(search.state.get()).toEqual({
      status: "ready",
      query: "rain",
      results: [createResult("rain")],
    });
  });

  test("ignores results that arrive after the query has changed", async () => {
    const { search, pause, answer } = createSearchEnvironment();
    search.setQuery("sun", undefined);
    pause();
    search.setQuery("sunn", undefined);
    await answer(0, [createResult("sun")]);
    expect(search.state.get()).toEqual({ status: "searching", query: "sunn", results: [] });
  });

  test("shows the old results until new ones arrive, and none if the query is empty", async () => {
    const { search, pause, answer } = createSearchEnvironment();
    search.setQuery("sun", undefined);
    pause();
    await answer(0, [createResult("a")]);
    search.setQuery("sunny", undefined);
    expect(search.state.get()).toEqual({
      status: "searching",
      query: "sunny",
      results: [createResult("a")],
    });
    search.setQuery("  ", undefined);
    expect(search.state.get()).toEqual({ status: "idle" });
    pause();
    expect(search.state.get()).toEqual({ status: "idle" });
  });

  test("searches again for the same query with another tag", () => {
    const { search, requests, pause } = createSearchEnvironment();
    search.setQuery("sun", undefined);
    pause();
    search.setQuery("sun", "travel");
    pause();
    expect(requests.map(({ query, tag }) => [query, tag])).toEqual([
      ["sun", undefined],
      ["sun", "travel"],
    ]);
  });

  test("reports a failure, and can be retried", async () => {
    const { search, requests, pause, fail } = createSearchEnvironment();
    search.setQuery("sun", undefined);
    pause();
    await fail(0, "the gateway cannot be reached");
    expect(search.state.get()).toEqual({
      status: "failed",
      query: "sun",
      message: "the gateway cannot be reached",
    });
    search.retry();
    pause();
    expect(requests).toHaveLength(2);
  });
});

function createResult(chat_id: string): ChatSearchResult {
  return { chat: createChatSummary({ chat_id }), title_marks: [], hits: [] };
}

function createSearchEnvironment() {
  const requests: {
    query: string;
    tag: string | undefined;
    resolve: (results: readonly ChatSearchResult[]) => void;
    reject: (error: Error) => void;
  }[] = [];
  let scheduled: (() => void) | undefined;
  const search = createChatSearch({
    search: (query, tag) =>
      new Promise((resolve, reject) => {
        requests.push({ query, tag, resolve, reject });
      }),
    schedule: (run) => {
      scheduled = run;
      return () => {
        scheduled = undefined;
      };
    },
  });
  const flushPromises = () => new Promise((resolve) => setTimeout(resolve));
  return {
    search,
    requests,
    pause: () => {
      const run = scheduled;
      scheduled = undefined;
      run?.();
    },
    answer: async (index: number, results: ChatSearchResult[]) => {
      requests[index]?.resolve(results);
      await flushPromises();
    },
    fail: async (index: number, message: string) => {
      requests[index]?.reject(new Error(message));
      await flushPromises();
    },
  };
}
