import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  filterExistingVersions,
  toggleComparedVersion,
  getAdjacentVersions,
} from "../../src/tree/compared-versions.ts";
import { layoutChatTree } from "../../src/tree/chat-tree-layout.ts";
import { buildChatTree } from "../../src/tree/chat-tree.ts";
import {
  listReachableNodes,
  findLastItemOnPath,
  navigateFrom,
} from "../../src/tree/keyboard-navigation.ts";
import { ChatBuilder } from "./chat-builder.ts";

describe("the tree of a chat", () => {
  test("has every node once, with level, position and whether it is on the current path", () => {
    const { chat } = createBranchedChat();
    const items = [...buildChatTree(chat).values()].map(
      ({ id, level, position, siblingCount, isOnPath }) => [
        id,
        level,
        `${position}/${siblingCount}`,
        isOnPath,
      ],
    );
    expect(items).toEqual([
      ["node_1", 1, "1/1", true],
      ["node_2", 2, "1/1", true],
      ["node_3", 3, "1/2", false],
      ["node_4", 4, "1/1", false],
      ["node_5", 3, "2/2", true],
      ["node_6", 4, "1/1", true],
    ]);
  });

  test("has the text, author and state of each chosen version", () => {
    const builder = createBranchedChat();
    builder.addAnswerVersion("node_2", "Cloudy.\n\nTake an umbrella.", {
      status: "error",
      agent: "helper",
    });
    const item = buildChatTree(builder.chat).get("node_2");
    expect(item).toMatchObject({
      excerpt: "Cloudy. Take an umbrella.",
      version: 2,
      versionCount: 2,
      state: "failed",
      author: "helper",
      taskId: undefined,
    });
    builder.addAnswerVersion("node_4", "", { status: "running", task_id: "task_1" });
    expect(buildChatTree(builder.chat).get("node_4")).toMatchObject({
      state: "answering",
      taskId: "task_1",
    });
  });

  test("marks pinned, hidden and bookmarked nodes and separators", () => {
    const builder = createBranchedChat();
    builder.edit({ type: "bookmark", node_id: "node_6", value: true });
    builder.edit({ type: "pin", node_id: "node_5", value: true });
    builder.edit({ type: "hide", node_id: "node_3", value: true });
    const separator = builder.edit({ type: "add_separator", after: "node_6" });
    const tree = buildChatTree(builder.chat);
    expect(tree.get("node_6")?.isBookmarked).toBe(true);
    expect(tree.get("node_5")?.isPinned).toBe(true);
    expect(tree.get("node_3")?.isHidden).toBe(true);
    expect(tree.get(separator)).toMatchObject({ kind: "separator", versionCount: 0, excerpt: "" });
  });

  test("marks nodes that respond to another version of their parent, on every branch", () => {
    const builder = createBranchedChat();
    const node = builder.chat.nodes["node_2"];
    const first = node?.kind === "answer" ? node.version : "";
    builder.addAnswerVersion("node_2", "Cloudy.");
    const later = builder.addMessage("node_2", "And later?");
    const answer = builder.addAnswer(later, "Sunny.");
    builder.edit({ type: "choose_branch", node_id: "node_5" });
    const outdated = () =>
      [...buildChatTree(builder.chat).values()].flatMap(({ id, isOutdated }) =>
        isOutdated ? [id] : [],
      );
    expect(outdated()).toEqual([]);
    builder.edit({ type: "choose_version", node_id: "node_2", version_id: first });
    expect(outdated()).toEqual([later, answer]);
  });

  test("keeps items that an edit does not change as the same objects", () => {
    const builder = createBranchedChat();
    const before = buildChatTree(builder.chat);
    builder.addAnswerVersion("node_6", "Sunny, 27 degrees.");
    const after = buildChatTree(builder.chat);
    const changed = [...after].filter(([id, item]) => before.get(id) !== item).map(([id]) => id);
    expect(changed).toEqual(["node_6"]);
  });

  test("has a position for every node in the layout", () => {
    const { chat } = createBranchedChat();
    const tree = buildChatTree(chat);
    expect(layoutChatTree(chat.roots, tree).positions.size).toBe(tree.size);
  });
});

const arrows = [
  ["ArrowUp", 0, -1],
  ["ArrowDown", 0, 1],
  ["ArrowLeft", -1, 0],
  ["ArrowRight", 1, 0],
] as const;

describe("keyboard navigation in the tree", () => {
  const { chat } = createBranchedChat();
  const tree = buildChatTree(chat);
  const layout = layoutChatTree(chat.roots, tree);

  test("arrows move to the parent, the child on the path and neighboring branches", () => {
    expect(navigateFrom(tree, layout, "node_2", "ArrowUp")).toBe("node_1");
    expect(navigateFrom(tree, layout, "node_2", "ArrowDown")).toBe("node_5");
    expect(navigateFrom(tree, layout, "node_5", "ArrowLeft")).toBe("node_3");
    expect(navigateFrom(tree, layout, "node_3", "ArrowRight")).toBe("node_5");
    expect(navigateFrom(tree, layout, "node_3", "ArrowDown")).toBe("node_4");
  });

  test("arrows at an edge and other keys do not move, nor does an unknown node", () => {
    expect(navigateFrom(tree, layout, "node_1", "ArrowUp")).toBe(undefined);
    expect(navigateFrom(tree, layout, "node_6", "ArrowDown")).toBe(undefined);
    expect(navigateFrom(tree, layout, "node_5", "ArrowRight")).toBe(undefined);
    expect(navigateFrom(tree, layout, "node_5", "x")).toBe(undefined);
    expect(navigateFrom(tree, layout, "gone", "ArrowUp")).toBe(undefined);
  });

  test("Home and End move to the ends of the current path", () => {
    expect(navigateFrom(tree, layout, "node_4", "Home")).toBe("node_1");
    expect(navigateFrom(tree, layout, "node_4", "End")).toBe("node_6");
    expect(findLastItemOnPath(tree)).toBe("node_6");
  });

  test("arrows move between several roots", () => {
    const builder = createBranchedChat();
    builder.addMessage(null, "Something else");
    const newTree = buildChatTree(builder.chat);
    const newLayout = layoutChatTree(builder.chat.roots, newTree);
    // The second root is at the right edge of the layout.
    expect(navigateFrom(newTree, newLayout, "node_1", "ArrowRight")).toBe("node_7");
  });

  test("the down arrow moves to the child straight below, even if another child is on the path", () => {
    const builder = new ChatBuilder();
    const root = builder.addAnswer(builder.addMessage(null, "Plan"), "Where to?");
    const children = ["sea", "hills", "town"].map((text) => builder.addMessage(root, text));
    const newTree = buildChatTree(builder.chat);
    const newLayout = layoutChatTree(builder.chat.roots, newTree);
    expect(newTree.get(children[2] ?? "")?.isOnPath).toBe(true);
    expect(navigateFrom(newTree, newLayout, root, "ArrowDown")).toBe(children[1]);
  });

  test("the left and right arrows also move to nodes with another parent", () => {
    const builder = new ChatBuilder();
    const root = builder.addAnswer(builder.addMessage(null, "Plan"), "Where to?");
    const [sea, hills] = ["sea", "hills"].map((text) =>
      builder.addAnswer(builder.addMessage(root, text), "When?"),
    );
    const newTree = buildChatTree(builder.chat);
    const newLayout = layoutChatTree(builder.chat.roots, newTree);
    expect(navigateFrom(newTree, newLayout, sea ?? "", "ArrowRight")).toBe(hills);
    expect(navigateFrom(newTree, newLayout, hills ?? "", "ArrowLeft")).toBe(sea);
    expect(navigateFrom(newTree, newLayout, sea ?? "", "ArrowLeft")).toBe(undefined);
  });

  test("every arrow moves to a node in its direction", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(), { maxLength: 40 }), (parents) => {
        const builder = new ChatBuilder();
        const ids = [builder.addMessage(null, "0")];
        for (const [index, parent] of parents.entries())
          ids.push(
            builder.addMessage(
              parent % 9 === 8 ? null : (ids[parent % ids.length] ?? null),
              `${index}`,
            ),
          );
        const newTree = buildChatTree(builder.chat);
        const { positions } = layoutChatTree(builder.chat.roots, newTree);
        for (const [id, from] of positions)
          for (const [key, dx, dy] of arrows) {
            const to = positions.get(
              navigateFrom(newTree, { positions, width: 0, height: 0 }, id, key) ?? "",
            );
            if (to === undefined) continue;
            const [across, down] = [to.x - from.x, to.y - from.y];
            expect(dy !== 0 || across * dx >= Math.abs(down) - from.height).toBe(true);
            expect(across * dx + down * dy).toBeGreaterThan(0);
          }
      }),
      { numRuns: 100 },
    );
  });

  test("every target of an arrow is listed as reachable", () => {
    for (const id of tree.keys())
      for (const key of ["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"])
        expect([...listReachableNodes(tree, layout, id), undefined]).toContain(
          navigateFrom(tree, layout, id, key),
        );
  });
});

describe("the selection for a comparison", () => {
  const select = (nodeId: string) => ({ nodeId, versionId: "version" });

  test("replaces its first node with a third one, and drops a node that is selected again", () => {
    const two = [select("a"), select("b")];
    expect(toggleComparedVersion(two, select("c"))).toEqual([select("b"), select("c")]);
    expect(toggleComparedVersion(two, select("a"))).toEqual([select("b")]);
  });

  test("of versions contains the chosen one and a neighbor", () => {
    const builder = createBranchedChat();
    builder.addAnswerVersion("node_2", "Cloudy.");
    expect(getComparedVersionIds(builder, "node_2")).toEqual(["version_2", "version_7"]);
    builder.edit({ type: "choose_version", node_id: "node_2", version_id: "version_2" });
    expect(getComparedVersionIds(builder, "node_2")).toEqual(["version_2", "version_7"]);
    expect(getComparedVersionIds(builder, "node_4")).toBe(undefined);
  });

  test("does not contain deleted nodes", () => {
    const builder = createBranchedChat();
    const versions = [
      { nodeId: "node_2", versionId: "version_2" },
      { nodeId: "node_4", versionId: "version_4" },
    ];
    builder.edit({ type: "delete_node", node_id: "node_3", children: "delete" });
    expect(filterExistingVersions(builder.chat, versions)).toEqual(versions.slice(0, 1));
  });
});

function createBranchedChat(): ChatBuilder {
  const builder = new ChatBuilder();
  const question = builder.addMessage(null, "What is the weather?");
  const answer = builder.addAnswer(question, "Sunny.");
  builder.addAnswer(builder.addMessage(answer, "And tomorrow?"), "Rain.");
  builder.addAnswer(builder.addMessage(answer, "And in Rome?"), "Sunny as well.");
  return builder;
}

function getComparedVersionIds(builder: ChatBuilder, nodeId: string): string[] | undefined {
  const node = builder.chat.nodes[nodeId];
  if (node === undefined || node.kind === "separator") return undefined;
  return getAdjacentVersions(node)?.map(({ versionId }) => versionId);
}
