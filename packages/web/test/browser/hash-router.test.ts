import fc from "fast-check";
import { expect, test } from "vitest";
import { formatHashRoute, parseHashRoute, type HashRoute } from "../../src/browser/hash-router.ts";

const id = fc.string({ minLength: 1, unit: "binary" }).filter((text) => text.isWellFormed());

test("every route equals itself after formatting and parsing, whatever its ids are", () => {
  const routes = fc.oneof(
    fc.constant<HashRoute>({ type: "new" }),
    fc.constant<HashRoute>({ type: "upstreams" }),
    id.map((chatId): HashRoute => ({ type: "chat", chatId })),
    fc.tuple(id, id).map(([chatId, nodeId]): HashRoute => ({ type: "chat", chatId, nodeId })),
    id.map((chatId): HashRoute => ({ type: "tree", chatId })),
  );
  fc.assert(
    fc.property(routes, (route) => {
      expect(parseHashRoute(formatHashRoute(route))).toEqual(route);
    }),
  );
});

test.each(["", "#", "#/", "#/nowhere", "#/chats", "#/chats/"])("%s is the start page", (hash) => {
  expect(parseHashRoute(hash)).toEqual({ type: "new" });
});

test("an incomplete escape sequence in a hash is part of the id", () => {
  expect(parseHashRoute("#/chats/%E4%BD")).toEqual({ type: "chat", chatId: "%E4%BD" });
});
