import { useEffect, useMemo, useRef, useState } from "react";
import type {
  AnswerNode,
  AnswerVersion,
  Chat,
  UserNode,
  UserVersion,
} from "@deltawire/tasks/chats";
import {
  parseMarkdown,
  markCitations,
  type MarkdownBlock,
  type MarkdownInline,
} from "@deltawire/tasks/markdown";
import type { Block as ItemBlock } from "@deltawire/tasks";
import { buildAnswerViewModel } from "../answer/answer-view-model.ts";
import {
  createEarlierSources,
  EarlierSourcesContext,
  noEarlierSources,
  useSource,
} from "../answer/earlier-sources.ts";
import { SourcesContext } from "../answer/answer-context.ts";
import { formatSourceName, type Sources } from "../answer/sources.ts";
import { answerMessages } from "../answer/messages.ts";
import { createVersionEdits } from "../chat/message-footer.tsx";
import { useCommands } from "../hooks/use-app-store.ts";
import { LazyMarkdownBlocks } from "../markdown/lazy-markdown.tsx";
import { blocksToComparableText } from "../markdown/markdown-text.ts";
import { Button, IconButton } from "../ui/button.tsx";
import { Select, Switch } from "../ui/field.tsx";
import type { OpenChat } from "../state/app-store.ts";
import { useMessages } from "../messages/use-messages.ts";
import {
  findComparedVersion,
  sideLabels,
  type ComparedVersion,
  type ComparedVersions,
} from "./compared-versions.ts";
import { VersionBody, VersionDetails } from "./version-body.tsx";
import { isUnchanged, markDifferences, diffWords, type DiffPart } from "./word-diff.ts";
import { treeMessages } from "./messages.ts";

interface CompareViewProps {
  openChat: OpenChat;
  chat: Chat;
  /** Exactly two. */
  versions: ComparedVersions;
  onChange: (versions: ComparedVersions) => void;
  onShowInChat: (nodeId: string) => void;
  onBack: () => void;
}

/** Compares two versions of a message, or two messages, side by side. */
export function CompareView({
  openChat,
  chat,
  versions,
  onChange,
  onShowInChat,
  onBack,
}: CompareViewProps) {
  const t = useMessages(treeMessages);
  const [left, right] = versions.map((comparedVersion) =>
    findComparedVersion(chat, comparedVersion),
  );
  const isSameNode = versions[0]?.nodeId === versions[1]?.nodeId;
  const [wantsDiff, setWantsDiff] = useState(isSameNode);
  const isRunning = [left, right].some((side) => isVersionRunning(side?.version));
  const backButton = useRef<HTMLButtonElement>(null);
  useEffect(() => backButton.current?.focus(), []);
  useCommands([
    {
      id: "tree.back",
      title: t.backToTree,
      group: t.group,
      keys: "escape",
      run: onBack,
    },
  ]);
  const diff = useVersionDiff(left?.version, right?.version, wantsDiff && !isRunning);
  return (
    <section className="tree-compare" aria-label={t.comparison}>
      <header className="tree-toolbar">
        <IconButton ref={backButton} icon="back" label={t.backToTree} onClick={onBack} />
        <h1 className="single-line">{t.comparison}</h1>
        <Switch
          label={t.differences}
          checked={wantsDiff && !isRunning}
          disabled={isRunning}
          onChange={setWantsDiff}
        />
      </header>
      {isRunning && <p className="tree-notice">{t.whileRunning}</p>}
      {diff !== undefined && isUnchanged(diff.parts) && (
        <p className="tree-notice" role="status">
          {t.identical}
        </p>
      )}
      <div className="tree-sides">
        {versions.map((comparedVersion, index) => (
          <CompareSide
            key={sideLabels[index]}
            openChat={openChat}
            chat={chat}
            comparedVersion={comparedVersion}
            sideLabel={sideLabels[index] ?? ""}
            parts={diff?.parts}
            markedBlocks={diff?.markedBlocks[index]}
            onChange={(next) => onChange(versions.with(index, next))}
            onShowInChat={() => onShowInChat(comparedVersion.nodeId)}
          />
        ))}
      </div>
    </section>
  );
}

function useVersionDiff(
  left: UserVersion | AnswerVersion | undefined,
  right: UserVersion | AnswerVersion | undefined,
  isEnabled: boolean,
): VersionDiff | undefined {
  return useMemo(
    () =>
      isEnabled && left !== undefined && right !== undefined
        ? diffComparableTexts(getComparableText(left), getComparableText(right))
        : undefined,
    [left, right, isEnabled],
  );
}

interface VersionDiff {
  readonly parts: readonly DiffPart[];
  /** Both sides with the differences marked. Undefined for a side that is plain text. */
  readonly markedBlocks: readonly (readonly MarkdownBlock[] | undefined)[];
}

function diffComparableTexts(left: ComparableText, right: ComparableText): VersionDiff {
  const parts = diffWords(left.text, right.text);
  return {
    parts,
    markedBlocks: [
      left.blocks && markDifferences(left.blocks, parts, "removed"),
      right.blocks && markDifferences(right.blocks, parts, "added"),
    ],
  };
}

interface CompareSideProps {
  openChat: OpenChat;
  chat: Chat;
  comparedVersion: ComparedVersion;
  sideLabel: string;
  parts: readonly DiffPart[] | undefined;
  markedBlocks: readonly MarkdownBlock[] | undefined;
  onChange: (comparedVersion: ComparedVersion) => void;
  onShowInChat: () => void;
}

function CompareSide({
  openChat,
  chat,
  comparedVersion,
  sideLabel,
  parts,
  markedBlocks,
  onChange,
  onShowInChat,
}: CompareSideProps) {
  const t = useMessages(treeMessages);
  const match = findComparedVersion(chat, comparedVersion);
  if (match === undefined) return null;
  const { node, version } = match;
  const isShown = node.version === version.version_id;
  const author = "output" in version ? (version.agent ?? version.model ?? t.manual) : t.you;
  return (
    <section className="tree-side" aria-label={t.side(sideLabel)}>
      <header className="tree-side-head">
        <span className="tree-compare-label" aria-hidden="true">
          {sideLabel}
        </span>
        <h2 className="single-line" dir="auto">
          {author}
        </h2>
        {node.versions.length > 1 && (
          <Select
            aria-label={`${t.version} ${sideLabel}`}
            value={version.version_id}
            onChange={(event) =>
              onChange({ ...comparedVersion, versionId: event.currentTarget.value })
            }
          >
            {node.versions.map(({ version_id }, index) => (
              <option key={version_id} value={version_id}>
                {t.versionOf(index + 1, node.versions.length)}
              </option>
            ))}
          </Select>
        )}
      </header>
      <div className="tree-side-body">
        {parts === undefined ? (
          <VersionBody chat={openChat} node={node} version={version} />
        ) : (
          <DiffText
            chat={chat}
            node={node}
            version={version}
            parts={parts}
            markedBlocks={markedBlocks}
            side={sideLabel === sideLabels[0] ? "removed" : "added"}
            sideLabel={sideLabel}
          />
        )}
      </div>
      <VersionDetails version={version} isCompared />
      <footer className="tree-panel-actions">
        {node.versions.length > 1 && (
          <Button
            small
            icon="check"
            disabled={isShown}
            onClick={() =>
              void openChat.change(...createVersionEdits(chat, node, version.version_id))
            }
          >
            {isShown ? t.shownVersion : t.makeShown}
          </Button>
        )}
        <Button small icon="chevron" onClick={onShowInChat}>
          {t.showInChat}
        </Button>
      </footer>
    </section>
  );
}

interface DiffTextProps {
  chat: Chat;
  node: UserNode | AnswerNode;
  version: UserVersion | AnswerVersion;
  parts: readonly DiffPart[];
  markedBlocks: readonly MarkdownBlock[] | undefined;
  side: "removed" | "added";
  sideLabel: string;
}

/** One of the two texts. Parts that the other text lacks are marked. */
function DiffText({ chat, node, version, parts, markedBlocks, side, sideLabel }: DiffTextProps) {
  const t = useMessages(treeMessages);
  const sources = useMemo(() => getSources(version), [version]);
  const earlierSources = useMemo(
    () =>
      node.kind === "answer" && "output" in version
        ? createEarlierSources(() => chat, { node, version })
        : noEarlierSources,
    [chat, node, version],
  );
  const markTitle = t.onlyInSide(sideLabel);
  const plainText = (
    <div className="plain-text" dir="auto">
      {parts.map(({ kind, text }, index) => {
        if (kind === "same") return text;
        if (kind !== side) return null;
        return (
          <mark key={index} title={markTitle}>
            {text}
          </mark>
        );
      })}
    </div>
  );
  return (
    <div className="tree-diff" data-side={side}>
      {markedBlocks === undefined ? (
        plainText
      ) : (
        <SourcesContext value={sources}>
          <EarlierSourcesContext value={earlierSources}>
            <LazyMarkdownBlocks
              blocks={markedBlocks}
              markTitle={markTitle}
              renderCitation={renderCitation}
            >
              {plainText}
            </LazyMarkdownBlocks>
          </EarlierSourcesContext>
        </SourcesContext>
      )}
    </div>
  );
}

function getSources(version: UserVersion | AnswerVersion): Sources {
  return "output" in version ? buildAnswerViewModel(version).timeline.sources : new Map();
}

function renderCitation(reference: number, resolved: boolean) {
  return <StaticCitation number={reference} resolved={resolved} />;
}

function isVersionRunning(version: UserVersion | AnswerVersion | undefined): boolean {
  return version !== undefined && "output" in version && version.status === "running";
}

interface StaticCitationProps {
  number: number;
  resolved: boolean;
}

/** A citation chip without a link, for places where the tool calls are not shown. The tooltip names the source. */
export function StaticCitation({ number, resolved }: StaticCitationProps) {
  const t = useMessages(answerMessages);
  const source = useSource(number);
  const isKnown = resolved && source !== undefined;
  const name = isKnown ? t.sourceNamed(number, formatSourceName(source)) : t.unresolved(number);
  return (
    <span
      className="answer-citation-chip"
      data-unresolved={!isKnown || undefined}
      role="img"
      aria-label={name}
      title={name}
    >
      {number}
      {!isKnown && "?"}
    </span>
  );
}

/** The text of a version for the comparison. */
export interface ComparableText {
  readonly text: string;
  /** Set for answers, which are Markdown. Messages of the user are plain text. */
  readonly blocks?: readonly MarkdownBlock[];
}

export function getComparableText(version: UserVersion | AnswerVersion): ComparableText {
  if (!("output" in version)) return { text: version.text };
  const blocks = version.output.flatMap((item) =>
    item.type === "message" ? item.block_list.flatMap(parseContentBlock) : [],
  );
  return { text: blocksToComparableText(blocks), blocks };
}

function parseContentBlock(block: ItemBlock): MarkdownBlock[] {
  if (block.type === "text")
    return parseMarkdown(markCitations(block.text, block.annotations ?? []));
  return block.type === "audio" ? transcriptToBlocks(block.transcript ?? "") : [];
}

/** A transcript is plain text, not Markdown. */
function transcriptToBlocks(transcript: string): MarkdownBlock[] {
  if (transcript.trim() === "") return [];
  const inline = transcript
    .split("\n")
    .flatMap((text, index): MarkdownInline[] => [
      ...(index === 0 ? [] : [{ type: "break" as const }]),
      { type: "text", text },
    ]);
  return [{ type: "paragraph", inline }];
}
