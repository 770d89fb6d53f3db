import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { choicesIn, toggled, versionsToCompare } from "../../src/tree/choices.ts";
import { layoutOf } from "../../src/tree/sizes.ts";
import { treeOf } from "../../src/tree/tree-of.ts";
import { aroundOf, lastOnPath, stepFrom } from "../../src/tree/walk.ts";
import { Conversation } from "./conversation.ts";

describe("a chat as a tree", () => {
  test("has every node once, with its level, its place and whether the chat shows it", () => {
    const { chat } = branched();
    const items = [...treeOf(chat).values()].map(({ id, level, place, beside, isOnPath }) => [
      id,
      level,
      `${place}/${beside}`,
      isOnPath,
    ]);
    expect(items).toEqual([
      ["node_1", 1, "1/1", true],
      ["node_2", 2, "1/1", true],
      ["node_3", 3, "1/2", false],
      ["node_4", 4, "1/1", false],
      ["node_5", 3, "2/2", true],
      ["node_6", 4, "1/1", true],
    ]);
  });

  test("says of a node what its shown version says, who said it, and how it ended", () => {
    const made = branched();
    made.again("node_2", "Cloudy.\n\nTake an umbrella.", { status: "error", agent: "helper" });
    const item = treeOf(made.chat).get("node_2");
    expect(item).toMatchObject({
      words: "Cloudy. Take an umbrella.",
      version: 2,
      versions: 2,
      says: "failed",
      by: "helper",
      taskId: undefined,
    });
    made.again("node_4", "", { status: "running", task_id: "task_1" });
    expect(treeOf(made.chat).get("node_4")).toMatchObject({ says: "answering", taskId: "task_1" });
  });

  test("marks what is pinned, hidden and bookmarked, and knows separators", () => {
    const made = branched();
    made.edit({ type: "bookmark", node_id: "node_6", value: true });
    made.edit({ type: "pin", node_id: "node_5", value: true });
    made.edit({ type: "hide", node_id: "node_3", value: true });
    const separator = made.edit({ type: "add_separator", after: "node_6" });
    const tree = treeOf(made.chat);
    expect(tree.get("node_6")?.isBookmarked).toBe(true);
    expect(tree.get("node_5")?.isPinned).toBe(true);
    expect(tree.get("node_3")?.isHidden).toBe(true);
    expect(tree.get(separator)).toMatchObject({ kind: "separator", versions: 0, words: "" });
  });

  test("marks what was written for another version of what is above, on every branch", () => {
    const made = branched();
    const node = made.chat.nodes["node_2"];
    const first = node?.kind === "answer" ? node.version : "";
    made.again("node_2", "Cloudy.");
    const later = made.ask("node_2", "And later?");
    const answer = made.answer(later, "Sunny.");
    made.edit({ type: "choose_branch", node_id: "node_5" });
    const outdated = () =>
      [...treeOf(made.chat).values()].flatMap(({ id, isOutdated }) => (isOutdated ? [id] : []));
    expect(outdated()).toEqual([]);
    made.edit({ type: "choose_version", node_id: "node_2", version_id: first });
    expect(outdated()).toEqual([later, answer]);
  });

  test("what an edit does not touch stays the same object", () => {
    const made = branched();
    const before = treeOf(made.chat);
    made.again("node_6", "Sunny, 27 degrees.");
    const after = treeOf(made.chat);
    const changed = [...after].filter(([id, item]) => before.get(id) !== item).map(([id]) => id);
    expect(changed).toEqual(["node_6"]);
  });

  test("is placed whole", () => {
    const { chat } = branched();
    const tree = treeOf(chat);
    expect(layoutOf(chat.roots, tree).places.size).toBe(tree.size);
  });
});

const arrows = [
  ["ArrowUp", 0, -1],
  ["ArrowDown", 0, 1],
  ["ArrowLeft", -1, 0],
  ["ArrowRight", 1, 0],
] as const;

describe("walking in a tree", () => {
  const { chat } = branched();
  const tree = treeOf(chat);
  const layout = layoutOf(chat.roots, tree);

  test("arrows lead to the parent, the shown child and the branches beside", () => {
    expect(stepFrom(tree, layout, "node_2", "ArrowUp")).toBe("node_1");
    expect(stepFrom(tree, layout, "node_2", "ArrowDown")).toBe("node_5");
    expect(stepFrom(tree, layout, "node_5", "ArrowLeft")).toBe("node_3");
    expect(stepFrom(tree, layout, "node_3", "ArrowRight")).toBe("node_5");
    expect(stepFrom(tree, layout, "node_3", "ArrowDown")).toBe("node_4");
  });

  test("at an end they lead nowhere, and other keys never do", () => {
    expect(stepFrom(tree, layout, "node_1", "ArrowUp")).toBe(undefined);
    expect(stepFrom(tree, layout, "node_6", "ArrowDown")).toBe(undefined);
    expect(stepFrom(tree, layout, "node_5", "ArrowRight")).toBe(undefined);
    expect(stepFrom(tree, layout, "node_5", "x")).toBe(undefined);
    expect(stepFrom(tree, layout, "gone", "ArrowUp")).toBe(undefined);
  });

  test("Home and End lead to the ends of what the chat shows", () => {
    expect(stepFrom(tree, layout, "node_4", "Home")).toBe("node_1");
    expect(stepFrom(tree, layout, "node_4", "End")).toBe("node_6");
    expect(lastOnPath(tree)).toBe("node_6");
  });

  test("several beginnings are beside each other", () => {
    const made = branched();
    made.ask(null, "Something else");
    const both = treeOf(made.chat);
    const places = layoutOf(made.chat.roots, both);
    // The second one stands at the edge of the picture.
    expect(stepFrom(both, places, "node_1", "ArrowRight")).toBe("node_7");
  });

  test("down leads to the child that is drawn below, whichever the chat shows", () => {
    const made = new Conversation();
    const root = made.answer(made.ask(null, "Plan"), "Where to?");
    const three = ["sea", "hills", "town"].map((text) => made.ask(root, text));
    const drawn = treeOf(made.chat);
    const places = layoutOf(made.chat.roots, drawn);
    expect(drawn.get(three[2] ?? "")?.isOnPath).toBe(true);
    expect(stepFrom(drawn, places, root, "ArrowDown")).toBe(three[1]);
  });

  test("left and right lead to cousins, too", () => {
    const made = new Conversation();
    const root = made.answer(made.ask(null, "Plan"), "Where to?");
    const [sea, hills] = ["sea", "hills"].map((text) => made.answer(made.ask(root, text), "When?"));
    const drawn = treeOf(made.chat);
    const places = layoutOf(made.chat.roots, drawn);
    expect(stepFrom(drawn, places, sea ?? "", "ArrowRight")).toBe(hills);
    expect(stepFrom(drawn, places, hills ?? "", "ArrowLeft")).toBe(sea);
    expect(stepFrom(drawn, places, sea ?? "", "ArrowLeft")).toBe(undefined);
  });

  test("every arrow leads to a node that is drawn in its direction", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(), { maxLength: 40 }), (parents) => {
        const made = new Conversation();
        const ids = [made.ask(null, "0")];
        for (const [index, parent] of parents.entries())
          ids.push(
            made.ask(parent % 9 === 8 ? null : (ids[parent % ids.length] ?? null), `${index}`),
          );
        const drawn = treeOf(made.chat);
        const { places } = layoutOf(made.chat.roots, drawn);
        for (const [id, from] of places)
          for (const [key, dx, dy] of arrows) {
            const to = places.get(stepFrom(drawn, { places, width: 0, height: 0 }, id, key) ?? "");
            if (to === undefined) continue;
            const [across, down] = [to.x - from.x, to.y - from.y];
            expect(dy !== 0 || across * dx >= Math.abs(down) - from.height).toBe(true);
            expect(across * dx + down * dy).toBeGreaterThan(0);
          }
      }),
      { numRuns: 100 },
    );
  });

  test("every step leads to one of those around", () => {
    for (const id of tree.keys())
      for (const key of ["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"])
        expect([...aroundOf(tree, layout, id), undefined]).toContain(
          stepFrom(tree, layout, id, key),
        );
  });
});

describe("what is compared", () => {
  const choice = (nodeId: string) => ({ nodeId, versionId: "version" });

  test("a third takes the place of the first, and one that is chosen again goes", () => {
    const two = [choice("a"), choice("b")];
    expect(toggled(two, choice("c"))).toEqual([choice("b"), choice("c")]);
    expect(toggled(two, choice("a"))).toEqual([choice("b")]);
  });

  test("of versions it is the shown one and the one before it, or after it", () => {
    const made = branched();
    made.again("node_2", "Cloudy.");
    expect(versionsOf(made, "node_2")).toEqual(["version_2", "version_7"]);
    made.edit({ type: "choose_version", node_id: "node_2", version_id: "version_2" });
    expect(versionsOf(made, "node_2")).toEqual(["version_2", "version_7"]);
    expect(versionsOf(made, "node_4")).toBe(undefined);
  });

  test("what was deleted meanwhile is no longer chosen", () => {
    const made = branched();
    const choices = [
      { nodeId: "node_2", versionId: "version_2" },
      { nodeId: "node_4", versionId: "version_4" },
    ];
    made.edit({ type: "delete_node", node_id: "node_3", children: "delete" });
    expect(choicesIn(made.chat, choices)).toEqual(choices.slice(0, 1));
  });
});

function branched(): Conversation {
  const made = new Conversation();
  const question = made.ask(null, "What is the weather?");
  const answer = made.answer(question, "Sunny.");
  made.answer(made.ask(answer, "And tomorrow?"), "Rain.");
  made.answer(made.ask(answer, "And in Rome?"), "Sunny as well.");
  return made;
}

function versionsOf(made: Conversation, nodeId: string): string[] | undefined {
  const node = made.chat.nodes[nodeId];
  if (node === undefined || node.kind === "separator") return undefined;
  return versionsToCompare(node)?.map(({ versionId }) => versionId);
}
