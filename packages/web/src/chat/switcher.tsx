import type { AnswerNode, UserNode } from "@deltawire/tasks/chats";
import { useWords } from "../words/use-words.ts";
import { offeredVersions, switchOf, versionEdits, type Switch } from "./switches.ts";
import { readyChat, useThread } from "./thread.ts";
import { chatWords } from "./words.ts";

/** Both can be there: what this node has been, and what stands in its place on other paths. */
export function Switchers({
  node,
  branches,
}: {
  node: UserNode | AnswerNode;
  branches: readonly string[];
}) {
  const words = useWords(chatWords);
  const { chat } = useThread();
  const versions = switchOf(offeredVersions(node), node.version);
  const branch = switchOf(branches, node.node_id);
  const showVersion = (versionId: string) => {
    const now = readyChat(chat);
    if (now !== undefined) void chat.change(...versionEdits(now, node, versionId));
  };
  const showBranch = (nodeId: string) =>
    void chat.change({ type: "choose_branch", node_id: nodeId });
  return (
    <>
      {versions !== undefined && (
        <Switcher
          place={versions}
          name={words.version}
          label={words.versionOf(versions.at, versions.of)}
          previous={words.previousVersion}
          next={words.nextVersion}
          onShow={showVersion}
        />
      )}
      {branch !== undefined && (
        <Switcher
          place={branch}
          name={words.branch}
          label={words.branchOf(branch.at, branch.of)}
          previous={words.previousBranch}
          next={words.nextBranch}
          onShow={showBranch}
        />
      )}
    </>
  );
}

interface SwitcherProps {
  place: Switch;
  name: string;
  label: string;
  previous: string;
  next: string;
  onShow: (id: string) => void;
}

function Switcher({ place, name, label, previous, next, onShow }: SwitcherProps) {
  const step = (sign: string, title: string, id: string | undefined) => (
    <button
      type="button"
      className="chat-step"
      aria-label={title}
      title={title}
      disabled={id === undefined}
      onClick={() => id !== undefined && onShow(id)}
    >
      {sign}
    </button>
  );
  return (
    <span className="chat-switch" role="group" aria-label={label}>
      <span>{name}</span>
      {step("‹", previous, place.previous)}
      <span className="chat-switch-at">
        {place.at}/{place.of}
      </span>
      {step("›", next, place.next)}
    </span>
  );
}
