import { useEffect, useMemo, useRef, useState, type Ref } from "react";
import { flushSync } from "react-dom";
import { nodeOf, type Chat } from "@deltawire/tasks/chats";
import { MissingChat } from "../chat/missing-chat.tsx";
import { useCell } from "../hooks/use-cell.ts";
import { useCommands, useOpenChat, usePage } from "../hooks/use-page.ts";
import { Button, IconButton } from "../parts/button.tsx";
import { Icon } from "../parts/icon.tsx";
import { Empty, Spinner } from "../parts/signs.tsx";
import type { OpenChat } from "../state/page.ts";
import { hashOf } from "../browser/route.ts";
import { unreachable } from "../unreachable.ts";
import { useWords } from "../words/use-words.ts";
import {
  choicesIn,
  letters,
  messageIn,
  toggled,
  versionsToCompare,
  type Choices,
} from "./choices.ts";
import { Compare } from "./compare.tsx";
import { Picture, type PictureHandle } from "./picture.tsx";
import { SidePanel } from "./side-panel.tsx";
import { layoutOf } from "./sizes.ts";
import { treeOf, type Tree } from "./tree-of.ts";
import { lastOnPath } from "./walk.ts";
import { treeWords } from "./words.ts";
import "./tree.css";

/** The whole conversation as a picture: to see it, to jump, and to compare. */
export function TreeView({ chatId }: { chatId: string }) {
  const words = useWords(treeWords);
  const open = useOpenChat(chatId);
  const state = useCell(open.state);
  switch (state.is) {
    case "loading":
      return (
        <div className="tree-waiting">
          <Spinner label={words.loading} />
        </div>
      );
    case "missing":
      return <MissingChat />;
    case "failed":
      return (
        <Empty title={words.failed} text={state.message}>
          <Button icon="redo" onClick={() => void open.readAnew()}>
            {words.retry}
          </Button>
        </Empty>
      );
    case "ready":
      return <ReadyTree open={open} chat={state.chat} />;
    default:
      return unreachable(state);
  }
}

/** By which button: that has the focus again afterwards. */
type Comparing = "versions" | "chosen";

function ReadyTree({ open, chat }: { open: OpenChat; chat: Chat }) {
  const page = usePage();
  const words = useWords(treeWords);
  const tree = useMemo(() => treeOf(chat), [chat]);
  const layout = useMemo(() => layoutOf(chat.roots, tree), [chat.roots, tree]);
  const picture = useRef<PictureHandle>(null);
  const [selected, setSelected] = useState<string>();
  const [chosen, setChosen] = useState<Choices>([]);
  const [comparing, setComparing] = useState<Comparing>();
  const compareVersionsButton = useRef<HTMLButtonElement>(null);
  const compareChosenButton = useRef<HTMLButtonElement>(null);
  const choices = choicesIn(chat, chosen);
  const letterOf = useMemo(
    () => new Map(chosen.map(({ nodeId }, index) => [nodeId, letters[index] ?? ""])),
    [chosen],
  );

  const showInChat = async (nodeId: string) => {
    if (tree.get(nodeId)?.isOnPath !== true)
      await open.change({ type: "choose_branch", node_id: nodeId });
    page.router.go({ is: "chat", chatId: chat.chat_id, nodeId });
  };
  const choose = (nodeId: string) => {
    const node = messageIn(chat, nodeId);
    if (node === undefined) return;
    setChosen(toggled(choices, { nodeId, versionId: node.version }));
    setComparing(undefined);
  };
  const compareVersions = (nodeId: string) => {
    const node = messageIn(chat, nodeId);
    const both = node === undefined ? undefined : versionsToCompare(node);
    if (both === undefined) return;
    setChosen(both);
    setComparing("versions");
  };
  // Somebody else may delete what is compared.
  const isGone = comparing !== undefined && choices.length < letters.length;
  useEffect(() => {
    if (!isGone) return;
    picture.current?.focus();
    page.toasts.show({ kind: "info", text: words.compareGone });
  }, [isGone, page, words]);
  const backToPicture = () => {
    flushSync(() => setComparing(undefined));
    const cameFrom = comparing === "versions" ? compareVersionsButton : compareChosenButton;
    cameFrom.current?.focus();
  };
  const toPath = () => {
    const end = lastOnPath(tree);
    if (end !== undefined) picture.current?.goTo(end);
  };
  useCommands([
    {
      id: "tree.in",
      title: words.zoomIn,
      group: words.group,
      keys: "+",
      run: () => picture.current?.zoom(1.25),
    },
    {
      id: "tree.out",
      title: words.zoomOut,
      group: words.group,
      keys: "-",
      run: () => picture.current?.zoom(0.8),
    },
    {
      id: "tree.fit",
      title: words.fit,
      group: words.group,
      keys: "0",
      run: () => picture.current?.fit(),
    },
    { id: "tree.path", title: words.toPath, group: words.group, run: toPath },
  ]);

  if (comparing !== undefined && !isGone)
    return (
      <Compare
        open={open}
        chat={chat}
        choices={choices}
        onChange={setChosen}
        onShowInChat={(nodeId) => void showInChat(nodeId)}
        onBack={backToPicture}
      />
    );
  const node = selected === undefined ? undefined : nodeOf(chat, selected);
  return (
    <section className="tree" aria-label={words.tree} data-panel={node !== undefined || undefined}>
      <header className="tree-bar-top">
        <a
          className="icon-button"
          href={hashOf({ is: "chat", chatId: chat.chat_id })}
          aria-label={words.backToChat}
          title={words.backToChat}
        >
          <Icon name="back" />
        </a>
        <h1 className="one-line" dir="auto">
          {chat.title === "" ? words.untitled : chat.title}
        </h1>
        <span className="quiet">{countsOf(tree, words.count)}</span>
      </header>
      <div className="tree-area">
        {tree.size === 0 ? (
          <Empty title={words.empty} text={words.emptyText} />
        ) : (
          <Picture
            tree={tree}
            layout={layout}
            selected={selected}
            letters={letterOf}
            onSelect={setSelected}
            onOpen={(nodeId) => void showInChat(nodeId)}
            onChoose={choose}
            handle={picture}
          />
        )}
        <div className="tree-tools" role="group" aria-label={words.group}>
          <IconButton icon="add" label={words.zoomIn} onClick={() => picture.current?.zoom(1.25)} />
          <IconButton
            icon="minus"
            label={words.zoomOut}
            onClick={() => picture.current?.zoom(0.8)}
          />
          <IconButton icon="fit" label={words.fit} onClick={() => picture.current?.fit()} />
          <IconButton icon="target" label={words.toPath} onClick={toPath} />
        </div>
        {choices.length > 0 && (
          <ChosenBar
            count={choices.length}
            compareButton={compareChosenButton}
            onCompare={() => setComparing("chosen")}
            onClear={() => setChosen([])}
          />
        )}
      </div>
      {selected !== undefined && node !== undefined && (
        <SidePanel
          chat={open}
          node={node.kind === "separator" ? undefined : node}
          isSeparator={node.kind === "separator"}
          isChosen={letterOf.has(selected)}
          onShowInChat={() => void showInChat(selected)}
          compareButton={compareVersionsButton}
          onCompareVersions={() => compareVersions(selected)}
          onChoose={() => choose(selected)}
          onClose={() => setSelected(undefined)}
        />
      )}
    </section>
  );
}

function countsOf(tree: Tree, count: (messages: number, branches: number) => string): string {
  const items = [...tree.values()];
  const messages = items.filter(({ kind }) => kind !== "separator").length;
  return count(messages, items.filter(({ children }) => children.length === 0).length);
}

interface ChosenBarProps {
  count: number;
  compareButton: Ref<HTMLButtonElement>;
  onCompare: () => void;
  onClear: () => void;
}

function ChosenBar({ count, compareButton, onCompare, onClear }: ChosenBarProps) {
  const words = useWords(treeWords);
  const isReady = count === letters.length;
  return (
    <div className="tree-chosen" role="status">
      <span>{isReady ? words.chosenTwo : words.chosenOne}</span>
      {isReady && (
        <Button ref={compareButton} kind="primary" small onClick={onCompare}>
          {words.compare}
        </Button>
      )}
      <Button kind="ghost" small onClick={onClear}>
        {words.clear}
      </Button>
    </div>
  );
}
