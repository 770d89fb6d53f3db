import {
  nextOnPath,
  type AnswerNode,
  type AnswerVersion,
  type Chat,
  type ChatNode,
  type PersonEdit,
  type UserNode,
} from "@deltawire/tasks/chats";
import { useNow } from "../list/now.ts";
import { Icon, type IconName } from "../parts/icon.tsx";
import { useFormat } from "../words/format.ts";
import { useWords } from "../words/use-words.ts";
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

/** `‹ 2/3 ›`: where one is among those that can be shown, and what is before and after it. */
export interface Switch {
  /** From 1 on. */
  readonly at: number;
  readonly of: number;
  readonly previous: string | undefined;
  readonly next: string | undefined;
}

/** Undefined where there is nothing to switch to. */
export function switchOf(ids: readonly string[], shown: string): Switch | undefined {
  const index = ids.indexOf(shown);
  if (index === -1 || ids.length < 2) return undefined;
  return { at: index + 1, of: ids.length, previous: ids[index - 1], next: ids[index + 1] };
}

/** One that another goes on from is part of that one's answer, and not offered beside it, unless it is the one that is shown. */
export function offeredVersions(node: UserNode | AnswerNode): string[] {
  const continued = node.kind === "answer" ? node.versions.map((version) => version.continues) : [];
  return node.versions
    .map(({ version_id }) => version_id)
    .filter((id) => id === node.version || !continued.includes(id));
}

/** What shows a version. With one of a message comes the last answer that was given to it. */
export function versionEdits(
  chat: Chat,
  node: UserNode | AnswerNode,
  versionId: string,
): PersonEdit[] {
  const shows: PersonEdit = {
    type: "choose_version",
    node_id: node.node_id,
    version_id: versionId,
  };
  const below = node.kind === "user" ? nextOnPath(chat, node.node_id) : undefined;
  if (below?.kind !== "answer") return [shows];
  const answer = below.versions.findLast(({ answers }) => answers === versionId);
  if (answer === undefined || answer.version_id === below.version) return [shows];
  return [shows, { type: "choose_version", node_id: below.node_id, version_id: answer.version_id }];
}

/** The number of the message's version that an answer was given to, where another one is shown. */
export function answeredVersion(
  above: ChatNode | undefined,
  version: AnswerVersion,
): { readonly number: number; readonly versionId: string } | undefined {
  const { answers } = version;
  if (above?.kind !== "user" || answers === undefined || answers === above.version)
    return undefined;
  const index = above.versions.findIndex(({ version_id }) => version_id === answers);
  return index === -1 ? undefined : { number: index + 1, versionId: answers };
}

/** What was said of a node: whether the model is told it, and whether somebody wants to find it again. */
export function Marks({
  node,
  isBookmarked,
  isOutdated,
}: {
  node: UserNode | AnswerNode;
  isBookmarked: boolean;
  isOutdated: boolean;
}) {
  const words = useWords(chatWords);
  const mark = (icon: IconName, text: string, hint: string) => (
    <span className="chat-mark" title={hint}>
      <Icon name={icon} small />
      {text}
    </span>
  );
  return (
    <>
      {isOutdated && mark("warning", words.outdated, words.outdatedHint)}
      {isBookmarked && mark("book", words.bookmarked, words.bookmarked)}
      {node.hidden && mark("hide", words.hidden, words.hiddenHint)}
      {node.pinned && !node.hidden && mark("pin", words.pinned, words.pinnedHint)}
    </>
  );
}

export function When({ iso }: { iso: string }) {
  const format = useFormat();
  const now = useNow();
  return (
    <time className="chat-when" dateTime={iso} title={format.exactly(iso)}>
      {format.when(iso, now)}
    </time>
  );
}
