import {
  nextNodeOnPath,
  type AnswerNode,
  type AnswerVersion,
  type Chat,
  type ChatNode,
  type UserEdit,
  type UserNode,
} from "@deltawire/tasks/chats";
import { useNow } from "../list/use-now.ts";
import { Icon, type IconName } from "../ui/icon.tsx";
import { useFormatter } from "../messages/format.ts";
import { useMessages } from "../messages/use-messages.ts";
import { getLoadedChat } from "../state/open-chat.ts";
import { useThread } from "./thread.ts";
import { chatViewMessages } from "./messages.ts";

/** Switchers between the versions of a node and between the branches at its position. */
export function VersionSwitchers({
  node,
  siblingIds,
}: {
  node: UserNode | AnswerNode;
  siblingIds: readonly string[];
}) {
  const t = useMessages(chatViewMessages);
  const { chat } = useThread();
  const versions = toSwitcherPosition(getSelectableVersionIds(node), node.version);
  const branch = toSwitcherPosition(siblingIds, node.node_id);
  const showVersion = (versionId: string) => {
    const current = getLoadedChat(chat);
    if (current !== undefined) void chat.change(...createVersionEdits(current, node, versionId));
  };
  const showBranch = (nodeId: string) =>
    void chat.change({ type: "choose_branch", node_id: nodeId });
  return (
    <>
      {versions !== undefined && (
        <Switcher
          position={versions}
          name={t.version}
          label={t.versionOf(versions.number, versions.total)}
          previous={t.previousVersion}
          next={t.nextVersion}
          onShow={showVersion}
        />
      )}
      {branch !== undefined && (
        <Switcher
          position={branch}
          name={t.branch}
          label={t.branchOf(branch.number, branch.total)}
          previous={t.previousBranch}
          next={t.nextBranch}
          onShow={showBranch}
        />
      )}
    </>
  );
}

interface SwitcherProps {
  position: SwitcherPosition;
  name: string;
  label: string;
  previous: string;
  next: string;
  onShow: (id: string) => void;
}

function Switcher({ position, name, label, previous, next, onShow }: SwitcherProps) {
  const renderStep = (symbol: string, title: string, id: string | undefined) => (
    <button
      type="button"
      className="chat-switcher-step"
      aria-label={title}
      title={title}
      disabled={id === undefined}
      onClick={() => id !== undefined && onShow(id)}
    >
      {symbol}
    </button>
  );
  return (
    <span className="chat-switcher" role="group" aria-label={label}>
      <span>{name}</span>
      {renderStep("‹", previous, position.previous)}
      <span className="chat-switcher-position">
        {position.number}/{position.total}
      </span>
      {renderStep("›", next, position.next)}
    </span>
  );
}

/** The state of a switcher such as `‹ 2/3 ›`. */
export interface SwitcherPosition {
  /** Counted from 1. */
  readonly number: number;
  readonly total: number;
  /** Id of the previous version or branch. */
  readonly previous: string | undefined;
  readonly next: string | undefined;
}

/** Returns undefined if there is nothing to switch to. */
export function toSwitcherPosition(
  ids: readonly string[],
  currentId: string,
): SwitcherPosition | undefined {
  const index = ids.indexOf(currentId);
  if (index === -1 || ids.length < 2) return undefined;
  return { number: index + 1, total: ids.length, previous: ids[index - 1], next: ids[index + 1] };
}

/** Returns the versions to switch between. A version that another one continues is part of that one, and is omitted unless chosen. */
export function getSelectableVersionIds(node: UserNode | AnswerNode): string[] {
  const continuedIds =
    node.kind === "answer" ? node.versions.map((version) => version.continues) : [];
  return node.versions
    .map(({ version_id }) => version_id)
    .filter((id) => id === node.version || !continuedIds.includes(id));
}

/** Returns the edits that choose a version. Choosing a version of a message also chooses the last answer to it. */
export function createVersionEdits(
  chat: Chat,
  node: UserNode | AnswerNode,
  versionId: string,
): UserEdit[] {
  const chooseVersion: UserEdit = {
    type: "choose_version",
    node_id: node.node_id,
    version_id: versionId,
  };
  const nextNode = node.kind === "user" ? nextNodeOnPath(chat, node.node_id) : undefined;
  if (nextNode?.kind !== "answer") return [chooseVersion];
  const answer = nextNode.versions.findLast(({ answers }) => answers === versionId);
  if (answer === undefined || answer.version_id === nextNode.version) return [chooseVersion];
  return [
    chooseVersion,
    { type: "choose_version", node_id: nextNode.node_id, version_id: answer.version_id },
  ];
}

/** Returns the message version that an answer responds to. Undefined if it is the one displayed. */
export function findAnsweredVersion(
  previousNode: ChatNode | undefined,
  version: AnswerVersion,
): { readonly number: number; readonly versionId: string } | undefined {
  const { answers } = version;
  if (previousNode?.kind !== "user" || answers === undefined || answers === previousNode.version)
    return undefined;
  const index = previousNode.versions.findIndex(({ version_id }) => version_id === answers);
  return index === -1 ? undefined : { number: index + 1, versionId: answers };
}

/** Badges for outdated, bookmarked, hidden and pinned nodes. */
export function NodeBadges({
  node,
  isBookmarked,
  isOutdated,
}: {
  node: UserNode | AnswerNode;
  isBookmarked: boolean;
  isOutdated: boolean;
}) {
  const t = useMessages(chatViewMessages);
  const renderBadge = (icon: IconName, text: string, hint: string) => (
    <span className="chat-badge" title={hint}>
      <Icon name={icon} small />
      {text}
    </span>
  );
  return (
    <>
      {isOutdated && renderBadge("warning", t.outdated, t.outdatedHint)}
      {isBookmarked && renderBadge("book", t.bookmarked, t.bookmarked)}
      {node.hidden && renderBadge("hide", t.hidden, t.hiddenHint)}
      {node.pinned && !node.hidden && renderBadge("pin", t.pinned, t.pinnedHint)}
    </>
  );
}

export function Timestamp({ iso }: { iso: string }) {
  const format = useFormatter();
  const now = useNow();
  return (
    <time className="chat-timestamp" dateTime={iso} title={format.dateTime(iso)}>
      {format.shortDate(iso, now)}
    </time>
  );
}
