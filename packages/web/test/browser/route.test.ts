import fc from "fast-check";
import { expect, test } from "vitest";
import { hashOf, routeOf, type Route } from "../../src/browser/route.ts";

const id = fc.string({ minLength: 1, unit: "binary" }).filter((text) => text.isWellFormed());

test("every route is found again by its address, whatever ids look like", () => {
  const routes = fc.oneof(
    fc.constant<Route>({ is: "new" }),
    fc.constant<Route>({ is: "upstreams" }),
    id.map((chatId): Route => ({ is: "chat", chatId })),
    fc.tuple(id, id).map(([chatId, nodeId]): Route => ({ is: "chat", chatId, nodeId })),
    id.map((chatId): Route => ({ is: "tree", chatId })),
  );
  fc.assert(
    fc.property(routes, (route) => {
      expect(routeOf(hashOf(route))).toEqual(route);
    }),
  );
});

test.each(["", "#", "#/", "#/nowhere", "#/chats", "#/chats/"])("%s leads to the start", (hash) => {
  expect(routeOf(hash)).toEqual({ is: "new" });
});

test("an address that is broken in the middle of a letter still names something", () => {
  expect(routeOf("#/chats/%E4%BD")).toEqual({ is: "chat", chatId: "%E4%BD" });
});
