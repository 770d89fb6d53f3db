import { useEffect, useMemo, useRef, useState } from "react";
import type {
  AnswerNode,
  AnswerVersion,
  Chat,
  UserNode,
  UserVersion,
} from "@deltawire/tasks/chats";
import { parseMarkdown, withCites, type Block, type Inline } from "@deltawire/tasks/markdown";
import type { Block as ItemBlock } from "@deltawire/tasks";
import { answerView } from "../answer/answer-view.ts";
import {
  earlierSources,
  EarlierSourcesContext,
  noEarlierSources,
  useSource,
} from "../answer/earlier-sources.ts";
import { SourcesContext } from "../answer/scene.ts";
import { sourceName, type Sources } from "../answer/sources.ts";
import { answerWords } from "../answer/words.ts";
import { versionEdits } from "../chat/message-footer.tsx";
import { useCommands } from "../hooks/use-page.ts";
import { LazyBlocks } from "../markdown/lazy-markdown.tsx";
import { comparedWords } from "../markdown/markdown-words.ts";
import { Button, IconButton } from "../parts/button.tsx";
import { Select, Switch } from "../parts/field.tsx";
import type { OpenChat } from "../state/page.ts";
import { useWords } from "../words/use-words.ts";
import { chosenIn, letters, type Choice, type Choices } from "./choices.ts";
import { VersionBody, VersionFacts } from "./version-body.tsx";
import { isSameText, withMarks, wordDiff, type DiffPart } from "./word-diff.ts";
import { treeWords } from "./words.ts";

interface CompareProps {
  open: OpenChat;
  chat: Chat;
  /** Two of them. */
  choices: Choices;
  onChange: (choices: Choices) => void;
  onShowInChat: (nodeId: string) => void;
  onBack: () => void;
}

/** Two versions, or two messages, side by side. */
export function Compare({ open, chat, choices, onChange, onShowInChat, onBack }: CompareProps) {
  const words = useWords(treeWords);
  const [one, other] = choices.map((choice) => chosenIn(chat, choice));
  const isOneNode = choices[0]?.nodeId === choices[1]?.nodeId;
  const [wantsDiff, setDiff] = useState(isOneNode);
  const isRunning = [one, other].some((side) => isUnderWay(side?.version));
  const back = useRef<HTMLButtonElement>(null);
  useEffect(() => back.current?.focus(), []);
  useCommands([
    {
      id: "tree.back",
      title: words.backToTree,
      group: words.group,
      keys: "escape",
      run: onBack,
    },
  ]);
  const diff = useDiff(one?.version, other?.version, wantsDiff && !isRunning);
  return (
    <section className="tree-compare" aria-label={words.comparison}>
      <header className="tree-bar-top">
        <IconButton ref={back} icon="back" label={words.backToTree} onClick={onBack} />
        <h1 className="one-line">{words.comparison}</h1>
        <Switch
          label={words.differences}
          checked={wantsDiff && !isRunning}
          disabled={isRunning}
          onChange={setDiff}
        />
      </header>
      {isRunning && <p className="tree-note">{words.whileRunning}</p>}
      {diff !== undefined && isSameText(diff.parts) && (
        <p className="tree-note" role="status">
          {words.sameWords}
        </p>
      )}
      <div className="tree-sides">
        {choices.map((choice, index) => (
          <Side
            key={letters[index]}
            open={open}
            chat={chat}
            choice={choice}
            letter={letters[index] ?? ""}
            parts={diff?.parts}
            drawn={diff?.drawn[index]}
            onChange={(next) => onChange(choices.with(index, next))}
            onShowInChat={() => onShowInChat(choice.nodeId)}
          />
        ))}
      </div>
    </section>
  );
}

function useDiff(
  one: UserVersion | AnswerVersion | undefined,
  other: UserVersion | AnswerVersion | undefined,
  isWanted: boolean,
): Diff | undefined {
  return useMemo(
    () =>
      isWanted && one !== undefined && other !== undefined
        ? diffOf(saidIn(one), saidIn(other))
        : undefined,
    [one, other, isWanted],
  );
}

interface Diff {
  readonly parts: readonly DiffPart[];
  /** The two sides as they are drawn, with what differs marked; undefined for what is shown as it was written. */
  readonly drawn: readonly (readonly Block[] | undefined)[];
}

function diffOf(one: Said, other: Said): Diff {
  const parts = wordDiff(one.words, other.words);
  return {
    parts,
    drawn: [
      one.blocks && withMarks(one.blocks, parts, "gone"),
      other.blocks && withMarks(other.blocks, parts, "new"),
    ],
  };
}

interface SideProps {
  open: OpenChat;
  chat: Chat;
  choice: Choice;
  letter: string;
  parts: readonly DiffPart[] | undefined;
  drawn: readonly Block[] | undefined;
  onChange: (choice: Choice) => void;
  onShowInChat: () => void;
}

function Side({ open, chat, choice, letter, parts, drawn, onChange, onShowInChat }: SideProps) {
  const words = useWords(treeWords);
  const chosen = chosenIn(chat, choice);
  if (chosen === undefined) return null;
  const { node, version } = chosen;
  const isShown = node.version === version.version_id;
  const who = "output" in version ? (version.agent ?? version.model ?? words.byHand) : words.you;
  return (
    <section className="tree-side" aria-label={words.side(letter)}>
      <header className="tree-side-head">
        <span className="tree-side-letter" aria-hidden="true">
          {letter}
        </span>
        <h2 className="one-line" dir="auto">
          {who}
        </h2>
        {node.versions.length > 1 && (
          <Select
            aria-label={`${words.version} ${letter}`}
            value={version.version_id}
            onChange={(event) => onChange({ ...choice, versionId: event.currentTarget.value })}
          >
            {node.versions.map(({ version_id }, index) => (
              <option key={version_id} value={version_id}>
                {words.versionOf(index + 1, node.versions.length)}
              </option>
            ))}
          </Select>
        )}
      </header>
      <div className="tree-side-body">
        {parts === undefined ? (
          <VersionBody chat={open} node={node} version={version} />
        ) : (
          <Differences
            chat={chat}
            node={node}
            version={version}
            parts={parts}
            drawn={drawn}
            side={letter === letters[0] ? "gone" : "new"}
            letter={letter}
          />
        )}
      </div>
      <VersionFacts version={version} isCompared />
      <footer className="tree-panel-actions">
        {node.versions.length > 1 && (
          <Button
            small
            icon="check"
            disabled={isShown}
            onClick={() => void open.change(...versionEdits(chat, node, version.version_id))}
          >
            {isShown ? words.shownVersion : words.makeShown}
          </Button>
        )}
        <Button small icon="go" onClick={onShowInChat}>
          {words.showInChat}
        </Button>
      </footer>
    </section>
  );
}

interface DifferencesProps {
  chat: Chat;
  node: UserNode | AnswerNode;
  version: UserVersion | AnswerVersion;
  parts: readonly DiffPart[];
  drawn: readonly Block[] | undefined;
  side: "gone" | "new";
  letter: string;
}

/** One of the two texts, with what the other lacks marked. */
function Differences({ chat, node, version, parts, drawn, side, letter }: DifferencesProps) {
  const words = useWords(treeWords);
  const sources = useMemo(() => sourcesIn(version), [version]);
  const earlier = useMemo(
    () =>
      node.kind === "answer" && "output" in version
        ? earlierSources(() => chat, { node, version })
        : noEarlierSources,
    [chat, node, version],
  );
  const marked = words.gone(letter);
  const plain = (
    <div className="plain-text" dir="auto">
      {parts.map(({ kind, text }, index) => {
        if (kind === "same") return text;
        if (kind !== side) return null;
        return (
          <mark key={index} title={marked}>
            {text}
          </mark>
        );
      })}
    </div>
  );
  return (
    <div className="tree-changes" data-side={side}>
      {drawn === undefined ? (
        plain
      ) : (
        <SourcesContext value={sources}>
          <EarlierSourcesContext value={earlier}>
            <LazyBlocks blocks={drawn} marked={marked} cite={cite}>
              {plain}
            </LazyBlocks>
          </EarlierSourcesContext>
        </SourcesContext>
      )}
    </div>
  );
}

function sourcesIn(version: UserVersion | AnswerVersion): Sources {
  return "output" in version ? answerView(version).timeline.sources : new Map();
}

function cite(reference: number, resolved: boolean) {
  return <Cited number={reference} resolved={resolved} />;
}

function isUnderWay(version: UserVersion | AnswerVersion | undefined): boolean {
  return version !== undefined && "output" in version && version.status === "running";
}

interface CitedProps {
  number: number;
  resolved: boolean;
}

/** A reference where the calls are not shown: it says what it stands for, and leads nowhere. */
export function Cited({ number, resolved }: CitedProps) {
  const words = useWords(answerWords);
  const source = useSource(number);
  const isKnown = resolved && source !== undefined;
  const name = isKnown ? words.sourceNamed(number, sourceName(source)) : words.unresolved(number);
  return (
    <span
      className="answer-chip"
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

/** What is compared of a version. */
export interface Said {
  readonly words: string;
  /** A model writes Markdown, people write what they mean. */
  readonly blocks?: readonly Block[];
}

export function saidIn(version: UserVersion | AnswerVersion): Said {
  if (!("output" in version)) return { words: version.text };
  const blocks = version.output.flatMap((item) =>
    item.type === "message" ? item.block_list.flatMap(readBlock) : [],
  );
  return { words: comparedWords(blocks), blocks };
}

function readBlock(block: ItemBlock): Block[] {
  if (block.type === "text") return parseMarkdown(withCites(block.text, block.annotations ?? []));
  return block.type === "audio" ? asSpoken(block.transcript ?? "") : [];
}

/** Nobody speaks Markdown. */
function asSpoken(transcript: string): Block[] {
  if (transcript.trim() === "") return [];
  const inline = transcript
    .split("\n")
    .flatMap((text, at): Inline[] => [
      ...(at === 0 ? [] : [{ type: "break" as const }]),
      { type: "text", text },
    ]);
  return [{ type: "paragraph", inline }];
}
