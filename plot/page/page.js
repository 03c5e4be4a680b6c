/* Draws the data of an interactive page. Texts from profiles only become text of an element or on a canvas.
 * SPDX-License-Identifier: MIT */
(function () {
  'use strict';
  var data = JSON.parse(document.getElementById('data').textContent), theme = data.theme, body = document.body;

  /* ---- elements ---- */

  function add(parent, tag, name, text) {
    var e = document.createElement(tag);
    if (name) e.className = name;
    if (text !== undefined) e.textContent = text;
    parent.appendChild(e);
    return e;
  }

  function button(parent, text, color, act) {
    var b = add(parent, 'button');
    b.type = 'button';
    if (color) add(b, 'span', 'box').style.background = color;
    b.appendChild(document.createTextNode(text));
    b.addEventListener('click', function () { act(b); });
    return b;
  }

  /* A button that switches HIDDEN[key]. */
  function toggle(parent, text, color, hidden, key, redraw) {
    button(parent, text, color, function (b) {
      hidden[key] = !hidden[key];
      b.setAttribute('aria-pressed', String(!hidden[key]));
      redraw();
    }).setAttribute('aria-pressed', 'true');
  }

  /* ---- numbers ---- */

  function digits(value, count) {
    return String(+value.toPrecision(count || 4));
  }

  /* "12.3 mJ"; only units that have prefixes get one, and never "ks". */
  function format(value, unit, count) {
    var names = {'-3': 'n', '-2': '\u00b5', '-1': 'm', '1': 'k', '2': 'M', '3': 'G'}, step = 0;
    if (value === null || value === undefined) return '-';
    if (unit === '%') return digits(value, 3) + ' %';
    if (value !== 0 && /^(s|J|W|V|A|Hz|C)$/.test(unit))
      step = Math.max(-3, Math.min(unit === 's' ? 0 : 3, Math.floor(Math.log10(Math.abs(value)) / 3 + 1e-9)));
    return digits(value / Math.pow(1000, step), count) + (unit ? ' ' + (names[step] || '') + unit : '');
  }

  body.style.background = theme.background;
  body.style.color = theme.text;
  document.title = data.title;
  add(body, 'h1', '', data.title);
  add(body, 'p', 'subtitle', data.subtitle).style.color = theme.faint;
  var tools = add(body, 'div', 'tools'), info = add(body, 'div', 'info');
  info.id = 'info';
  info.setAttribute('role', 'status');

  /* Whether ROW, or its value on one of several sides, is of code: not the sum of other rows, nor energy that no code used. */
  function isCode(row) {
    return !/^_(others?|idle|gap|residual)( \[|$)/.test(row.name);
  }

  /* ---- rows as bars: bars, compare ---- */

  /* Sorts ROWS by the value NUMBER, or by name if it is negative. Rows without a value come last. */
  function sortRows(rows, number, down) {
    rows.sort(function (a, b) {
      var x = number < 0 ? a.name : a.values[number], y = number < 0 ? b.name : b.values[number];
      if (x === null || y === null) return (x === null) - (y === null);
      return (x < y ? -1 : x > y ? 1 : 0) * (down ? -1 : 1);
    });
  }

  function showRow(row) {
    info.textContent = row.name + '\n' + data.columns.map(function (c, i) {
      return c.name + ' ' + format(row.values[i], c.unit) +
        (i === data.bar && row.error !== null ? ' \u00b1 ' + format(row.error, c.unit) : '');
    }).join('   ') + (row.note ? '   ' + row.note : '');
  }

  /* Returns the lowest and the highest value of the scale for the bars of ROWS. */
  function scaleOf(rows) {
    var low = 0, high = 0, code = [0, 0];
    rows.forEach(function (r) {
      var v = r.values[data.bar] || 0;
      low = Math.min(low, v);
      high = Math.max(high, v);
      if (!isCode(r)) return;
      code = [Math.min(code[0], v), Math.max(code[1], v)];
    });
    /* cut other bars if they would leave too little room for those of code */
    if (code[1] - code[0] > 0 && high - low > 1.6 * (code[1] - code[0])) {
      low = Math.max(low, 1.1 * code[0] - 0.1 * code[1]);
      high = Math.min(high, 1.1 * code[1] - 0.1 * code[0]);
    }
    return {low: low, high: high};
  }

  function drawBar(cell, row, scale, zoom) {
    var span = (scale.high - scale.low) * 1.02 || 1, zero = -scale.low / span, v = row.values[data.bar] || 0;
    var at = zero + v / span * zoom, e = (row.error || 0) / span * zoom;

    function put(name, color, from, to) {
      var part = add(cell, 'div', name);
      part.style.background = color;
      part.style.left = 100 * from + '%';
      part.style.width = Math.max(0, 100 * (to - from)) + '%';
    }

    function cut(x) { put('cut', theme.background, x - 0.008, x); }

    put('value', row.color, Math.max(0, Math.min(zero, at)), Math.min(1, Math.max(zero, at)));
    if (v > scale.high * 1.001) [0.94, 0.96].forEach(cut);
    if (v < scale.low * 1.001) [0.04, 0.06].forEach(cut);
    if (e > 0) put('error', theme.text, Math.max(0, at - e), Math.min(1, at + e));
    put('zero', theme.faint, zero, zero);
  }

  /* A slider for the width of bars, which calls ACT with the factor. */
  function zoomSlider(act) {
    var label = add(tools, 'label', '', 'zoom '), slider = add(label, 'input');
    slider.type = 'range';
    slider.min = 0;
    slider.max = 3;
    slider.step = 0.05;
    slider.value = 0;
    slider.addEventListener('input', function () { act(Math.pow(10, +slider.value)); });
  }

  function drawRows() {
    var hidden = {}, sort = -1, down = true, zoom = 1, rows = data.rows.slice(), groups = [];
    var table = add(body, 'table', 'rows'), head = add(add(table, 'thead'), 'tr'), lines = add(table, 'tbody');

    function heading(text, number, name) {
      var cell = add(head, 'th', name);
      button(cell, text, null, function () {
        down = sort === number ? !down : number >= 0;
        sort = number;
        sortRows(rows, number, down);
        Array.from(head.children).forEach(function (c) { c.removeAttribute('aria-sort'); });
        cell.setAttribute('aria-sort', down ? 'descending' : 'ascending');
        draw();
      });
    }

    function draw() {
      var shown = rows.filter(function (r) { return !hidden[r.group]; }), scale = scaleOf(shown);
      lines.textContent = '';
      shown.forEach(function (r) {
        var line = add(lines, 'tr');
        add(line, 'td', 'name', r.label).title = r.name;
        drawBar(add(line, 'td', 'bar'), r, scale, zoom);
        data.columns.forEach(function (c, i) { add(line, 'td', '', format(r.values[i], c.unit, 3)); });
        line.addEventListener('mouseenter', function () { showRow(r); });
        line.addEventListener('mouseleave', function () { info.textContent = ''; });
      });
    }

    heading('name', -1);
    add(head, 'th', 'bar', data.columns[data.bar].name).style.color = theme.faint;
    data.columns.forEach(function (c, i) { heading(c.name, i); });
    rows.forEach(function (r) {
      if (groups.indexOf(r.group) >= 0) return;
      groups.push(r.group);
      toggle(tools, r.group, r.color, hidden, r.group, draw);
    });
    zoomSlider(function (factor) {
      zoom = factor;
      draw();
    });
    draw();
  }

  /* ---- over time: timeline, heatmap ---- */

  var charts = [], names = 220;

  function axis(more) {
    return Object.assign({stroke: theme.faint, grid: {stroke: theme.grid}, ticks: {stroke: theme.grid}, font: '12px sans-serif'},
                         more);
  }

  function times() {
    return Array.from({length: data.count}, function (_, i) { return data.start + (i + 0.5) * data.width; });
  }

  function chart(options, columns) {
    var whole = [data.start, data.start + data.count * data.width];
    var c = new uPlot(Object.assign({
      width: Math.max(300, body.clientWidth - 40),
      cursor: {sync: {key: 'time'}, drag: {x: true, y: false}, points: {show: false}}
    }, options, {
      scales: Object.assign({x: {time: false, range: function (u, low, high) {
        return [Math.max(whole[0], Math.min(low, whole[1])), Math.min(whole[1], Math.max(high, whole[0]))];
      }}}, options.scales)
    }), columns, add(body, 'div'));
    charts.push(c);
    c.setScale('x', {min: whole[0], max: whole[1]});
    return c;
  }

  /* ROWS named rows; PAINT(context, row, left, top, right, bottom of the row, chart) draws one;
   * DESCRIBE(row, bin) returns the text for the pointer. */
  function rowsOverTime(rows, height, paint, describe) {
    function draw(u) {
      var c = u.ctx, box = u.bbox;
      c.save();
      c.beginPath();
      c.rect(box.left, box.top, box.width, box.height);
      c.clip();
      rows.forEach(function (row, i) {
        paint(c, row, box.top + i / rows.length * box.height, box.height / rows.length, u);
      });
      c.restore();
    }
    function hover(u) {
      var at = u.cursor, x = at.left >= 0 ? u.posToVal(at.left, 'x') : NaN, row, bin;
      if (!(at.top >= 0) || !u.over.matches(':hover') && !u.pointed) return;
      row = Math.min(rows.length - 1, Math.floor(at.top / u.over.clientHeight * rows.length));
      bin = Math.max(0, Math.min(data.count - 1, Math.floor((x - data.start) / data.width)));
      if (!isNaN(x)) info.textContent = format(data.start + bin * data.width, data.unit) + '   ' + describe(rows[row], bin);
    }
    var u = chart({
      height: rows.length * height + 90,
      legend: {show: false},
      scales: {y: {auto: false, range: [0, rows.length]}},
      series: [{}, {show: true, paths: function () { return null; }, points: {show: false}}],
      axes: [axis({label: 'time' + (data.unit ? ' [' + data.unit + ']' : ''), labelSize: 20}), axis({
        size: names + 10,
        grid: {show: false},
        splits: function () { return rows.map(function (_, i) { return rows.length - i - 0.5; }); },
        filter: function (u, splits) { return splits; },
        values: function () { return rows.map(function (r) { return r.label; }); }
      })],
      hooks: {draw: [draw], setCursor: [hover]}
    }, [times(), times().map(function () { return null; })]);
    u.over.addEventListener('mousemove', function () { u.pointed = true; }, true); /* before uPlot's own */
    u.over.addEventListener('mouseleave', function () { u.pointed = false; info.textContent = ''; });
    return u;
  }

  /* The position of COUNT bins, starting at BIN. */
  function span(u, bin, count) {
    var left = u.valToPos(data.start + bin * data.width, 'x', true);
    return [left, u.valToPos(data.start + (bin + count) * data.width, 'x', true) - left];
  }

  function zoomTools() {
    button(tools, 'whole time', null, function () {
      charts.forEach(function (c) { c.setScale('x', {min: data.start, max: data.start + data.count * data.width}); });
    });
    add(tools, 'span', '', 'drag to zoom').style.color = theme.faint;
    addEventListener('resize', function () {
      charts.forEach(function (c) { c.setSize({width: Math.max(300, body.clientWidth - 40), height: c.height}); });
    });
  }

  function drawPower(power) {
    function value(u, v) { return v === null ? '-' : format(v, power.unit); }
    var line = {value: value, points: {show: false}};
    chart({
      height: 260,
      scales: {y: {range: function (u, low, high) { /* from 0, as in pictures */
        low = 1.08 * Math.min(0, low);
        high = 1.08 * Math.max(0, high);
        return [low, high > low ? high : 1];
      }}},
      bands: [{series: [2, 3], fill: theme.text + '30'}],
      series: [
        {label: 'time', value: function (u, v) { return v === null ? '-' : format(v, data.unit); }},
        Object.assign({label: 'mean', stroke: theme.text, width: 1.5}, line),
        Object.assign({label: 'highest', stroke: theme.text + '60'}, line),
        Object.assign({label: 'lowest', stroke: theme.text + '60'}, line)
      ],
      axes: [axis({}), axis({size: names - 10, label: power.name + ' [' + power.unit + ']', labelSize: 20})]
    }, [times(), power.mean, power.high, power.low]);
  }

  function drawTimeline() {
    var hidden = {}, lanes = data.lanes.map(function (lane) {
      var bins = {};
      for (var i = 0; i < lane.cells.length; i += 2) {
        var bin = Math.floor(lane.cells[i] / 16);
        (bins[bin] = bins[bin] || []).push([lane.cells[i] % 16, lane.cells[i + 1] / 1000]);
      }
      return {name: lane.name, label: lane.label, bins: bins};
    }), view;
    data.series.forEach(function (s, k) { toggle(tools, s.label, s.color, hidden, k, function () { view.redraw(); }); });
    zoomTools();
    if (data.power) drawPower(data.power);
    view = rowsOverTime(lanes, 26, function (c, lane, top, height, u) {
      Object.keys(lane.bins).forEach(function (bin) {
        var place = span(u, +bin, data.group), y = top + height * 0.94;
        lane.bins[bin].forEach(function (part) {
          if (hidden[part[0]]) return;
          c.fillStyle = data.series[part[0]].color;
          y -= 0.88 * height * part[1];
          c.fillRect(place[0], y, place[1] + 0.5, 0.88 * height * part[1]);
        });
      });
    }, function (lane, bin) {
      var parts = lane.bins[Math.floor(bin / data.group) * data.group] || [];
      return lane.name + '   ' + (parts.map(function (p) {
        return data.series[p[0]].name + ' ' + digits(100 * p[1], 3) + ' %';
      }).join('   ') || 'idle');
    });
  }

  function drawHeatmap() {
    var stops = theme.heat.split(',').map(function (s) {
      var m = /([0-9.]+) '#(..)(..)(..)'/.exec(s);
      return [+m[1], parseInt(m[2], 16), parseInt(m[3], 16), parseInt(m[4], 16)];
    });
    function color(part) {
      for (var i = 1; i < stops.length - 1 && stops[i][0] < part;) i++;
      var a = stops[i - 1], b = stops[i], f = Math.min(1, (part - a[0]) / (b[0] - a[0]));
      return 'rgb(' + [1, 2, 3].map(function (n) { return Math.round(a[n] + f * (b[n] - a[n])); }).join(',') + ')';
    }
    var hidden = {}, most = data.most, view;
    function largest(row) { return row.values.reduce(function (a, b) { return Math.max(a, b); }, 0); }
    /* The scale ends at the largest value that is shown: that of code, if there is any. */
    function rescale() {
      var shown = data.rows.filter(function (row, k) { return !hidden[k]; }), own = shown.filter(isCode);
      most = shown.length === data.rows.length ? data.most : Math.max.apply(null, [0].concat((own.length ? own : shown).map(largest)));
      view.redraw();
    }
    data.rows.forEach(function (row, k) {
      row.number = k;
      toggle(tools, row.label, color(Math.min(1, largest(row) / (data.most || 1))), hidden, k, rescale);
    });
    zoomTools();
    view = rowsOverTime(data.rows, 22, function (c, row, top, height, u) {
      if (hidden[row.number]) return;
      row.values.forEach(function (v, bin) {
        var place = span(u, bin, 1);
        c.fillStyle = color(Math.min(1, v / (most || 1)));
        c.fillRect(place[0], top, place[1] + 0.5, height - 1);
      });
    }, function (row, bin) { return data.name + ' ' + format(row.values[bin], data.metric) + '   ' + row.name; });
  }

  /* ---- flame ---- */

  function drawFlame() {
    var area = add(body, 'div', 'flame'), top = 0, found = '', nodes = data.nodes, whole = nodes[0][3];
    function text(n) {
      return n[0] + '\n' + format(n[3], data.metric) + '   ' + digits(100 * n[3] / whole, 3) + ' %   ' + digits(n[4], 6) + ' samples';
    }
    function draw() {
      var to = nodes[top], deepest = 0;
      area.textContent = '';
      nodes.forEach(function (n, i) {
        var left = (n[2] - to[2]) / to[5], width = n[5] / to[5], above = n[1] < to[1];
        if (left + width < 1e-9 || left > 1 - 1e-9 || (above && (left > 1e-9 || left + width < 1 - 1e-9))) return;
        if (above) { left = 0; width = 1; }
        if (width * area.clientWidth < 1) return;
        var e = add(area, 'div', above ? 'above' : '', width * area.clientWidth > 30 ? n[0] : '');
        if (e.scrollWidth > width * area.clientWidth + 1) e.textContent = n[6];
        e.style.left = 100 * left + '%';
        e.style.width = 100 * width + '%';
        e.style.top = 20 * n[1] + 'px';
        e.style.background = found && n[0].toLowerCase().indexOf(found) >= 0 ? theme.text : theme.series[i % 8] + '90';
        if (found && n[0].toLowerCase().indexOf(found) >= 0) e.style.color = theme.background;
        e.addEventListener('mouseenter', function () { info.textContent = text(n); });
        e.addEventListener('mouseleave', function () { info.textContent = ''; });
        e.addEventListener('click', function () { top = i; draw(); });
        deepest = Math.max(deepest, n[1]);
      });
      area.style.height = 20 * (deepest + 1) + 'px';
    }
    button(tools, 'whole', null, function () { top = 0; draw(); });
    var search = add(add(tools, 'label', '', 'search '), 'input');
    search.type = 'search';
    search.addEventListener('input', function () { found = search.value.toLowerCase(); draw(); });
    addEventListener('resize', draw);
    draw();
  }

  /* ---- hist ---- */

  function drawHist() {
    var counts = false, rows = data.rows;
    function values() {
      var x = data.edges.slice(1).map(function (e, i) { return Math.sqrt(e * data.edges[i]); });
      return [x].concat(rows.map(function (r) {
        return r.values.map(function (v) { return counts ? v : 100 * v / r.calls; });
      }));
    }
    var c = new uPlot({
      width: Math.max(300, body.clientWidth - 40),
      height: 420,
      scales: {x: {time: false, distr: 3}},
      focus: {alpha: 0.25},
      cursor: {focus: {prox: 1e6}, drag: {x: true, y: false}, points: {show: false}},
      series: [{label: 'time', value: function (u, v) { return v === null ? '-' : format(v, data.unit, 3); }}].concat(
        rows.map(function (r, i) {
          var color = theme.series[i % theme.series.length];
          return {label: r.label, stroke: color, fill: color + '30', width: 1.5, points: {show: false},
                  paths: uPlot.paths.stepped({align: 0}),
                  value: function (u, v) { return v === null ? '-' : counts ? digits(v) : digits(v, 3) + ' %'; }};
        })),
      axes: [axis({label: 'time of a call', labelSize: 20, grid: {show: false}, values: function (u, splits) {
        return splits.map(function (v) { return v !== null && /^1e/.test(v.toExponential(2).replace('.00', '')) ? format(v * 1.0001, data.unit, 3) : ''; });
      }}), axis({size: 70, values: function (u, splits) {
        return splits.map(function (v) { return counts ? digits(v) : digits(v) + ' %'; });
      }})],
      hooks: {setSeries: [function (u, i) {
        info.textContent = i ? rows[i - 1].name + '\n' + rows[i - 1].note : '';
      }]}
    }, values(), add(body, 'div'));
    button(tools, 'numbers of calls', null, function (b) {
      counts = !counts;
      b.textContent = counts ? 'shares of calls' : 'numbers of calls';
      c.setData(values());
    });
    add(tools, 'span', '', 'drag to zoom, double-click for all').style.color = theme.faint;
    addEventListener('resize', function () {
      c.setSize({width: Math.max(300, body.clientWidth - 40), height: c.height});
    });
  }

  ({nothing: function () {}, hist: drawHist, rows: drawRows, timeline: drawTimeline, heatmap: drawHeatmap, flame: drawFlame})[data.kind]();
})();
