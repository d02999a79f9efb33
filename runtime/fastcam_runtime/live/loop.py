"""The loop: frames are read, explained and drawn at the same time, each by a thread of its own.

    source ─ read, prepare ─▶ frames ─ explain ─▶ results ─ draw, write ─▶ sinks
              thread                   thread              calling thread

A file's frames are read and made into the network's input one ahead. A live source reads in its own thread
and keeps the newest frame only, so the explaining thread asks it directly: a frame that waited would be an
old one. For the same reason it asks only once the result before is being drawn, and then not sooner than the
sinks will be ready: behind slow sinks the network rests, and no frame is explained that nobody sees.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..draw import views
from ..draw.overlay import Overlay
from ..draw.renderer import Drawing
from ..draw.smoothing import Smoother
from ..errors import FastcamError
from ..explainer import Explainer
from ..image import Array
from ..sinks import Sink
from ..sources import Source
from .backpressure import HandoffQueue, ReadDelay
from .controls import Choice, Controls
from .metrics import LoopMetrics
from .pause import Pause, State
from .presenter import Presenter, Read, Result

logger = logging.getLogger(__name__)

_TICK = 0.05
"""Seconds between looks at the controls while nothing arrives."""
_FAREWELL = 5.0
"""Seconds that a thread gets to finish its frame at the end."""


@dataclass(frozen=True)
class LoopOptions:
    """How the loop runs.

    Args:
        every: Maps are computed for every n-th frame; the others show the last ones.
        smooth: Share of the past in the maps, 0 to below 1.
        frames: End after so many frames were shown; None for all.
        caption: Write the label and the figures into the picture.
    """

    every: int = 1
    smooth: float = 0.0
    frames: int | None = None
    caption: bool = True

    def __post_init__(self) -> None:
        for name, value in (("every", self.every), ("frames", self.frames)):
            if value is not None and value < 1:
                raise FastcamError(f"{name} is {value}: at least 1 is needed")
        Smoother(self.smooth)  # refuses what is out of range


class Loop:
    """Reads, explains, draws and writes until the source ends or a stop is asked for.

    Args:
        explainer: The model.
        source: Where frames come from; closed at the end.
        sinks: Where pictures go; closed at the end, all of them, whatever happens.
        controls: The view, the class, pause and stop.
        overlay: Colours and blend.
        options: Everything else.
    """

    def __init__(
        self,
        explainer: Explainer,
        source: Source,
        sinks: Sequence[Sink],
        controls: Controls,
        overlay: Overlay | None = None,
        options: LoopOptions | None = None,
    ) -> None:
        self._explainer = explainer
        self._source = source
        self._sinks = sinks
        self._controls = controls
        self._options = options or LoopOptions()
        if source.stills:  # one photo tells nothing of the next
            self._options = replace(self._options, every=1, smooth=0.0)
        drawing = Drawing(overlay or Overlay(), smooth=self._options.smooth, caption=self._options.caption)
        recording = source.live and not all(sink.interactive for sink in sinks)
        self._pause: Pause[Read] = Pause(controls, recording=recording)
        self._presenter = Presenter(explainer, source, sinks, controls, self._pause, drawing)
        self._frames: HandoffQueue[Read] = HandoffQueue()
        self._results: HandoffQueue[Result] = HandoffQueue()
        self._read_delay = ReadDelay()
        self._maps: Mapping[str, Array] = {}
        """Those computed last."""
        self._error: BaseException | None = None

    @property
    def metrics(self) -> LoopMetrics:
        """What was done so far."""
        return self._presenter.metrics

    def run(self) -> LoopMetrics:
        """Run to the end; call it once, from the main thread if a sink is a window.

        Raises:
            FastcamError: A source, the model or a sink failed. What was recorded before is finished.
        """
        threads = [self._thread("explain", self._explain_all, self._results)]
        if not self._source.live:
            threads.append(self._thread("read", self._read_all, self._frames))
        started = time.monotonic()
        try:
            for thread in threads:
                thread.start()
            self._draw_all()
        finally:
            self.metrics.seconds = time.monotonic() - started
            self._close(threads)
        if self._error is not None:
            raise self._error
        return self.metrics

    def _read_all(self) -> None:
        while (read := self._read()) is not None and self._frames.put(read):
            pass

    def _read(self) -> Read | None:
        frame = self._source.read()
        if frame is None:
            return None
        age = 1e3 * (time.monotonic() - frame.time)
        return Read(frame, age, self._explainer.preprocess(frame.image))

    def _explain_all(self) -> None:
        next_frame = self._read if self._source.live else self._frames.get
        choice: Choice | None = None
        since_maps = 0
        count = 0
        last: Read | None = None
        while count != self._options.frames and (read := next_frame()) is not None:
            asked = self._controls.choice
            since_maps = 0 if asked != choice else since_maps + 1
            result = self._explain(read, asked, with_maps=since_maps % self._options.every == 0)
            given = time.monotonic()
            if not self._give(result):
                return
            if self._source.live:
                self._read_delay.learn(time.monotonic() - given)
            if self._controls.stop.wait(self._read_delay.seconds):
                return
            count += 1
            last = read
            choice = self._hold(read, asked)
        if self._controls.stop.is_set() or count == self._options.frames:
            return
        watched = self._source.stills and any(sink.interactive for sink in self._sinks)
        if watched and last is not None and choice is not None:
            hints = [sink.stop_hint for sink in self._sinks if sink.stop_hint]
            logger.info("the last picture stays until you press %s", " or ".join([*hints, "Ctrl-C here"]))
            self._pause.keep_last_photo()
            self._hold(last, choice)

    def _explain(self, read: Read, choice: Choice, *, with_maps: bool, again: bool = False) -> Result:
        view, of_class = choice
        model = self._explainer.model
        outputs = [views.output_of(view, model, of_class=of_class is not None)] if with_maps else []
        classes = [of_class] if of_class is not None else None
        explanation = self._explainer.explain(read.tensor, classes, outputs)[0]
        if with_maps:
            self._maps = explanation.maps
        explanation = replace(explanation, maps=self._maps)
        return Result(read, explanation, choice, again)

    def _give(self, result: Result) -> bool:
        """Hand a result over to be drawn. A live source's next frame is not due before this one is taken:
        read earlier, it would only grow old. False once nothing is drawn any more."""
        return self._results.put(result) and (not self._source.live or self._results.wait_free())

    def _hold(self, read: Read, shown: Choice) -> Choice | None:
        """Stay with this frame while the loop is frozen, and explain the held frame again for a new choice.

        Returns the choice that the latest maps are for; None if they are of another frame.
        """
        while (asked := self._pause.wait(shown)) is not None:
            shown = asked
            if not self._give(self._explain(read, shown, with_maps=True, again=True)):
                break
        held = self._pause.held_frame(read, shown)
        if held is None:
            return shown
        # Later frames have overwritten its input tensor.
        held = replace(held, tensor=self._explainer.preprocess(held.frame.image))
        self._give(self._explain(held, shown, with_maps=True, again=True))
        return None

    def _draw_all(self) -> None:
        while not self._controls.stop.is_set() and not self._results.over:
            result = self._results.get(_TICK)
            if result is not None:
                self._presenter.show(result)
            elif self._pause.state is not State.RUNNING:
                self._presenter.refresh()
            self._presenter.save_if_asked()

    def _thread(self, name: str, work: Callable[[], None], output: HandoffQueue[Any]) -> threading.Thread:
        """A thread that ends its output when it is done or failed; what it put there is still shown."""

        def guarded() -> None:
            try:
                work()
            except BaseException as error:  # raised again by `run`, in the thread of the caller
                # What fails once everything is being closed fails because of that.
                if not self._controls.stop.is_set():
                    self._error = self._error or error
            finally:
                output.end()

        return threading.Thread(target=guarded, name=f"fastcam {name}", daemon=True)

    def _close(self, threads: Sequence[threading.Thread]) -> None:
        """End the threads, then the sinks; the first failure is the one to report."""
        self._controls.request_stop()
        self._frames.drop()
        self._results.drop()
        for close in (self._source.close, *(sink.close for sink in self._sinks)):
            try:
                close()
            except Exception as error:
                self._error = self._error or error
        for thread in threads:
            if thread.is_alive():
                thread.join(_FAREWELL)
